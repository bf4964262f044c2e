/* What a module_table asks of a mapped file: its build id, or an id made of its contents, and where an offset lies. */
#ifndef FILE_QUESTION_H
#define FILE_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer_module.h"

#include "node-agent/files/foreign_file.h"

enum content_wish {
	CONTENT_NEVER,
	CONTENT_WITHOUT_BUILD_ID, /* the content identifies the file if there is no build id */
	CONTENT_ALWAYS,
};

struct file_question {
	struct foreign_file_visit visit; /* first */
	uint64_t offset;                 /* offset in the file */
	enum content_wish content;
	/* the answer */
	uint64_t vaddr; /* address of the offset */
	bool has_vaddr;
	enum symbolizer_kind kind;
	uint32_t id_size; /* 0: the file has no id of the wished kind */
	uint8_t id[WIRE_BUILD_ID_MAX];
};

/* Returns the visit of a question, which the caller frees as foreign_file_visit() says. NULL: out of memory. */
struct foreign_file_visit *file_question_create(uint64_t offset, enum content_wish content);

#endif
