/* How fake NCCL's public functions are exported, as NCCL's are: the function itself is "pnccl...", "nccl..." a weak
 * second name of it. */
#ifndef EXPORTED_H
#define EXPORTED_H

#define EXPORTED(name, ...)                                                                        \
	ncclResult_t p##name(__VA_ARGS__);                                                         \
	__attribute__((weak, alias("p" #name))) ncclResult_t name(__VA_ARGS__);                    \
	ncclResult_t p##name(__VA_ARGS__)

#endif
