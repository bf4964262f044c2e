/* Manual pages (mdoc) from their sources in docs/man, whose lines that begin with @ are replaced:
 *	@options VERB	its options; blocks of @text NAME follow up to @end. An option without a block has its sentence
 *			of help
 *	@settings VERB	the names that the configuration may have
 *	@verbs		the verbs, and what each does
 *	@counters	the counters of the ledger
 * Single-threaded. */
#ifndef MAN_PAGE_H
#define MAN_PAGE_H

#include <stdio.h>

/* Writes the page. 0; -EINVAL, after a message: a line is not understood, or names a verb or option that does not exist
 * or came before; -errno of the streams. */
int man_page_write(FILE *out, FILE *source, const char *source_name);

#endif
