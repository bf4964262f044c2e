/* What a probe on a function is given to tell it by: the function's number (call_function.h), and which end of the call
 * it is on where that has a probe of its own. Plain C for both compilers. */
#ifndef HOST_CALL_H
#define HOST_CALL_H

#define HOST_CALL_RETURN (1ull << 32)

#endif
