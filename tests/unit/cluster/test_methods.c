#include "cluster/methods.h"

#include "cluster/service/state.h"
#include "support/test.h"

static void every_method_has_a_path_of_its_own(void **state)
{
    struct at_service service = {.project = "p", .instance = "i"};
    size_t count = 0;

    (void)state;
    const struct at_grpc_method *methods = at_service_methods(&service, &count);
    assert_non_null(service.state);
    assert_true(count > 15);
    for (size_t i = 0; i < count; i++) {
        assert_true(methods[i].path[0] == '/' && methods[i].on_request);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(methods[i].path, methods[j].path);
    }
    at_service_methods_free(&methods);
    assert_null(methods);
    assert_null(service.state);
    at_service_methods_free(&methods);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_has_a_path_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
