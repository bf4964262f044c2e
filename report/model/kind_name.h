/* What the kinds of records and samples are called in reports. Constant; any thread. */
#ifndef KIND_NAME_H
#define KIND_NAME_H

#include <stdint.h>

/* Of an enum report_kind. "Kernel", "Sync", as in "[GPU0_Kernel]", "CPU", as in "[CPU]"; "kernel", "sync", "cpu" for
 * columns. An unknown one: "Unknown", "unknown". Static storage. */
const char *kind_name_leaf(uint32_t kind);
const char *kind_name_column(uint32_t kind);

/* What follows "[GPU0_Memcpy]": "HtoD", "stream", "lazy function loading", by gpu_record.copy_kind; "" for kinds
 * without such. Static storage. */
const char *kind_name_detail(uint32_t kind, uint32_t copy_kind);

#endif
