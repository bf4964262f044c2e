/* Encodes the rows of a table as the bytes of a page, and decodes them. The layout is in proto/wire.md. Pure. */
#ifndef PAGE_CODE_H
#define PAGE_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "profile_page.h"

#include "aggregator/store/database.h"

#define PAGE_CODE_COLUMNS_MAX 50u

/* Holds the bytes of a page. Embedded; zeroed memory is empty. */
struct page_code {
	uint8_t *bytes; /* owns */
	uint32_t size, room;
};

void page_code_fini(struct page_code *code);

/* Replaces the bytes by those of nr_rows rows (1 to PROFILE_PAGE_ROWS) of nr_columns values each, row by row. 0;
 * -EMSGSIZE: above WIRE_PAGE_BYTES_MAX; -ENOMEM. */
int page_code_encode(struct page_code *code, const struct database_value *values, uint32_t nr_rows,
		     uint32_t nr_columns);

/* Decodes a page of nr_columns columns. values has room for PROFILE_PAGE_ROWS rows; bytes in it are borrowed from the
 * page. 0; -EPROTO: these bytes are no such page. */
int page_code_decode(const uint8_t *bytes, size_t size, uint32_t nr_columns,
		     struct database_value *values, uint32_t *nr_rows);

#endif
