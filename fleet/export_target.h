/* Where profiles are exported to: a file of lines `NAME VALUE`, which only its owner may read, since it may have a
 * password. Any thread. */
#ifndef EXPORT_TARGET_H
#define EXPORT_TARGET_H

#include <stdint.h>

#define EXPORT_TARGET_INTERVAL_S 60u /* between two looks at a profile that is written */

enum export_kind { EXPORT_CLICKHOUSE, EXPORT_PYROSCOPE };

struct export_target { /* zeroed: empty */
	enum export_kind kind;
	char *url;      /* owns, as all texts; http://HOST:PORT or https://HOST:PORT */
	char *database; /* of ClickHouse; "flamegrid" if not given; of letters, digits and _ */
	char *tenant;   /* of Pyroscope; NULL: not given */
	char *user, *password; /* NULL: not given */
	char *ca;              /* file of certificates; NULL: the system's */
	uint32_t interval_s;
	uint32_t timeout_s; /* of one request */
};

/* Reads the file. 0 or -errno: *error is one line, which the caller owns (free()). Call export_target_fini() in either
 * case. */
int export_target_read(const char *path, struct export_target *target, char **error);
void export_target_fini(struct export_target *target);

#endif
