/* Which GPUs the process's CUDA ordinals are, and what their multiprocessors have. Calls the driver, so only outside of
 * callbacks and after CUPTI's CU_INIT_FINISHED: on the helper thread. */
#ifndef DEVICE_QUERY_H
#define DEVICE_QUERY_H

struct definition_writer;

/* Defines each device. Returns their number; -ENOENT: the process maps no libcuda, or one without
 * these functions; -EIO: the driver answers nothing yet; -ENOSPC: the definition lane is full. */
int device_query_define(struct definition_writer *writer);

/* In how many GPUs' primary contexts the process works; 0: in none, or not known. Makes none. */
int device_query_contexts(void);

#endif
