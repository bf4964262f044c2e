#include "file_question.h"

#include <stdlib.h>

#include "node-agent/files/content_id.h"
#include "node-agent/files/elf_file.h"

static void answer(struct foreign_file_visit *visit, struct elf_file *file)
{
	struct file_question *question = (struct file_question *)visit;

	question->has_vaddr = elf_file_vaddr(file, question->offset, &question->vaddr);
	question->kind = SYMBOLIZER_BUILD_ID;
	if (question->content != CONTENT_ALWAYS)
		question->id_size = elf_file_build_id(file, question->id, sizeof(question->id));
	if (question->id_size == 0 && question->content != CONTENT_NEVER &&
	    content_id_of(file, question->id)) {
		question->kind = SYMBOLIZER_CONTENT_ID;
		question->id_size = CONTENT_ID_SIZE;
	}
}

static void destroy_question(struct foreign_file_visit *visit)
{
	free(visit);
}

struct foreign_file_visit *file_question_create(uint64_t offset, enum content_wish content)
{
	struct file_question *question = calloc(1, sizeof(*question));

	if (!question)
		return NULL;
	question->offset = offset;
	question->content = content;
	question->visit.look = answer;
	question->visit.destroy = destroy_question;
	return &question->visit;
}
