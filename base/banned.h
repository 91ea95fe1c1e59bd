/* banned.h: calls that this project does not make; including it turns them into errors. */
#ifndef ATOLL_BASE_BANNED_H
#define ATOLL_BASE_BANNED_H

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atof gets localtime gmtime rand

#endif
