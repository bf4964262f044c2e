/* Findings: what the stored data prove that somebody should change, each in words, with evidence, threshold
 * (finding_limits.h) and cure. Used by one thread. */
#ifndef FINDINGS_H
#define FINDINGS_H

#include "finding.h"

/* 0 or -ENOMEM; on error *findings is NULL. findings_destroy() accepts NULL. */
int findings_create(const struct findings_input *input, struct findings **findings);
void findings_destroy(struct findings *findings);

#endif
