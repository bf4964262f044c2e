#include "hello_copy.h"

#include <string.h>

static void copy_text(char to[HELLO_COPY_TEXT_MAX], struct message_text *text)
{
	size_t size = text->size < HELLO_COPY_TEXT_MAX ? text->size : HELLO_COPY_TEXT_MAX;

	if (size > 0)
		memcpy(to, text->data, size);
	*text = (struct message_text){.data = to, .size = (uint32_t)size};
}

void hello_copy_init(struct hello_copy *copy, const struct message_hello *hello)
{
	copy->message = *hello;
	copy_text(copy->texts[0], &copy->message.software);
	copy_text(copy->texts[1], &copy->message.node);
	copy_text(copy->texts[2], &copy->message.boot_id);
	copy_text(copy->texts[3], &copy->message.job.key);
	copy_text(copy->texts[4], &copy->message.job.user);
	copy_text(copy->texts[5], &copy->message.job.title);
}
