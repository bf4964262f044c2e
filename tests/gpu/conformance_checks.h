/* What must hold of a log, whatever ran. Each check prints its lines. */
#ifndef CONFORMANCE_CHECKS_H
#define CONFORMANCE_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "conformance_log.h"

/* Prints "ok N - text" or "not ok N - text". */
void check(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints "# fact: text": what may differ between one CUDA and another. */
void fact(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* 0 if every check so far held, else 1. */
int checks_status(void);

/* ENTER and EXIT pair up in each thread; launch ids rise in each thread. */
void checks_callbacks(const struct conformance_log *log);
/* Successful launches and kernel records meet one to one, names included; failed launches have
 * none. */
void checks_correlation(const struct conformance_log *log, uint32_t expected_failures);
/* Copies and memsets have a callback with their id. */
void checks_transfers(const struct conformance_log *log);
/* Times are set, lie between the two timestamps, and do not overlap within a stream. */
void checks_times(const struct conformance_log *log, uint64_t before_ns, uint64_t after_ns);

#endif
