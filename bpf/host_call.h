/* Defines the argument of a probe on a function: the function's number (call_function.h). If the return has a probe of
 * its own, HOST_CALL_RETURN marks the return's probe. Plain C for both compilers. */
#ifndef HOST_CALL_H
#define HOST_CALL_H

#define HOST_CALL_RETURN (1ull << 32)

#endif
