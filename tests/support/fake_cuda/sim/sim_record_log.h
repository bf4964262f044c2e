/* Every record that the application is given complete and with times, one by one, in the file that FAKE_CUDA_RECORDS
 * names (README.md). Any thread. */
#ifndef SIM_RECORD_LOG_H
#define SIM_RECORD_LOG_H

#include <stdint.h>

struct sim_truth_row;

void sim_record_log_add(const struct sim_truth_row *row, uint64_t start_ns, uint64_t end_ns);

/* What was added is in the file. */
void sim_record_log_flush(void);

#endif
