/* Calls that must succeed: those that do not are said, and counted over the whole program. Any thread. */
#ifndef CONFORMANCE_CALL_H
#define CONFORMANCE_CALL_H

#include <stdint.h>

#define CALL(function, ...) conformance_call_expect(function(__VA_ARGS__), #function)

/* result 0 is success. */
void conformance_call_expect(int result, const char *what);

uint32_t conformance_call_failed(void);

#endif
