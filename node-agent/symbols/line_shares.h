/* Divides the memory for lines of generated files (generated/kernel_lines.h) among users, as fair_shares.h divides
 * places. The symbolizer keeps lines for its life, so nothing is given back. Any thread. */
#ifndef LINE_SHARES_H
#define LINE_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LINE_SHARES_BYTES_MAX (128u << 20) /* of all users; one user alone gets half */

struct line_shares;

/* The caller owns the shares; line_shares_destroy() accepts NULL. NULL: out of memory. */
struct line_shares *line_shares_create(void);
void line_shares_destroy(struct line_shares *shares);

/* Counts bytes for a user. false: the user may have no more, and nothing was counted. The first time a log line says
 * so. */
bool line_shares_take(struct line_shares *shares, uid_t user, size_t bytes);

#endif
