#include "send_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct frame {
	uint8_t *bytes; /* owns */
	size_t size;
	uint64_t kept_ns;
};

struct send_window {
	struct frame *frames; /* owns; a ring: frame seq is at index seq & mask */
	uint64_t mask;        /* slots - 1 */
	uint64_t acked_seq, last_seq;
	uint64_t size;
};

#define FIRST_SLOTS 256u

struct send_window *send_window_create(void)
{
	struct send_window *window = calloc(1, sizeof(*window));

	if (!window)
		return NULL;
	window->mask = FIRST_SLOTS - 1;
	window->frames = calloc(FIRST_SLOTS, sizeof(*window->frames));
	if (!window->frames) {
		free(window);
		return NULL;
	}
	return window;
}

void send_window_destroy(struct send_window *window)
{
	if (!window)
		return;
	send_window_ack(window, window->last_seq);
	free(window->frames);
	free(window);
}

static int grow(struct send_window *window)
{
	uint64_t mask = window->mask * 2 + 1;
	struct frame *frames = calloc(mask + 1, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	for (uint64_t seq = window->acked_seq + 1; seq <= window->last_seq; seq++)
		frames[seq & mask] = window->frames[seq & window->mask];
	free(window->frames);
	window->frames = frames;
	window->mask = mask;
	return 0;
}

int send_window_push(struct send_window *window, const uint8_t *frame, size_t size, uint64_t now_ns)
{
	if (window->last_seq - window->acked_seq > window->mask && grow(window))
		return -ENOMEM;
	uint8_t *bytes = malloc(size ? size : 1);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, frame, size);
	window->frames[++window->last_seq & window->mask] = (struct frame){bytes, size, now_ns};
	window->size += size;
	return 0;
}

int send_window_ack(struct send_window *window, uint64_t seq)
{
	if (seq < window->acked_seq || seq > window->last_seq)
		return -ERANGE;
	while (window->acked_seq < seq) {
		struct frame *frame = &window->frames[++window->acked_seq & window->mask];

		window->size -= frame->size;
		free(frame->bytes);
		*frame = (struct frame){0};
	}
	return 0;
}

uint64_t send_window_bytes(const struct send_window *window, uint64_t first, uint64_t last)
{
	uint64_t bytes = 0;
	size_t size;

	for (uint64_t seq = first; seq <= last && seq <= window->last_seq; seq++) {
		send_window_frame(window, seq, &size);
		bytes += size;
	}
	return bytes;
}

const uint8_t *send_window_frame(const struct send_window *window, uint64_t seq, size_t *size)
{
	*size = 0;
	if (seq <= window->acked_seq || seq > window->last_seq)
		return NULL;
	*size = window->frames[seq & window->mask].size;
	return window->frames[seq & window->mask].bytes;
}

uint64_t send_window_last_seq(const struct send_window *window)
{
	return window->last_seq;
}

uint64_t send_window_acked_seq(const struct send_window *window)
{
	return window->acked_seq;
}

uint64_t send_window_oldest_ns(const struct send_window *window)
{
	if (window->acked_seq == window->last_seq)
		return 0;
	return window->frames[(window->acked_seq + 1) & window->mask].kept_ns;
}

uint64_t send_window_size(const struct send_window *window)
{
	return window->size;
}
