/* Records to try the codec on: plain ones in each of the forms of a column, and extreme ones. Static storage; one
 * thread. */
#ifndef RECORD_SAMPLES_H
#define RECORD_SAMPLES_H

#include "proto/record.h"

#define RECORD_SAMPLES          96u
#define RECORD_SAMPLES_LAUNCHES 3u /* extreme ones */
#define RECORD_SAMPLES_GPU      4u

extern struct launch_record record_samples_launches[RECORD_SAMPLES]; /* zeroed until made */
extern struct gpu_record record_samples_gpu[RECORD_SAMPLES];
extern const struct launch_record record_samples_extreme_launches[RECORD_SAMPLES_LAUNCHES];
extern const struct gpu_record record_samples_extreme_gpu[RECORD_SAMPLES_GPU];

/* Makes the plain ones, the same each time. */
void record_samples_make(void);

#endif
