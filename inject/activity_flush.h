/* Fetches the activity that CUPTI holds, and samples CUPTI's clock beside it. The helper thread alone calls these
 * functions; one per process. */
#ifndef ACTIVITY_FLUSH_H
#define ACTIVITY_FLUSH_H

#include <stdint.h>

struct cupti_library;
struct definition_writer;

/* Both are borrowed for good. */
void activity_flush_init(const struct cupti_library *library,
			 struct definition_writer *definitions);

/* Samples CUPTI's clock and sends the sample. A notice tells once of a clock that another user has given CUPTI. */
void activity_flush_calibrate(void);

/* Records the loads of modules that have ended since the last call. Calls nothing of CUPTI's. */
void activity_flush_loads(void);

/* Has CUPTI deliver its records, after a sample of its clock: whatever comes lies between two samples. flag: of
 * cuptiActivityFlushAll(). Only while CUPTI is in use, within the lock of the capture window. */
void activity_flush_run(uint32_t flag);

#endif
