/* The file name of an offer that no agent has answered yet (handshake.h): the hello in hexadecimal digits. Pure; any
 * thread. */
#ifndef OFFER_NAME_H
#define OFFER_NAME_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "handshake.h"

#define OFFER_NAME_SIZE (2 * sizeof(struct guest_hello) + 1) /* bytes, with the NUL */

static inline void offer_name(const struct guest_hello *hello, char name[static OFFER_NAME_SIZE])
{
	const uint8_t *bytes = (const uint8_t *)hello;

	for (uint32_t i = 0; i < sizeof(*hello); i++) {
		name[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		name[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	name[OFFER_NAME_SIZE - 1] = '\0';
}

/* 0 to 15; 16: offer_name() writes no such digit. */
static inline unsigned offer_name_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return (unsigned)(digit - '0');
	return digit >= 'a' && digit <= 'f' ? (unsigned)(digit - 'a') + 10u : 16u;
}

/* The hello in a file's name; false: it is no such name, or of another version of the handshake. */
static inline bool offer_name_read(const char *name, struct guest_hello *hello)
{
	uint8_t bytes[sizeof(*hello)];

	memset(hello, 0, sizeof(*hello));
	if (strlen(name) != OFFER_NAME_SIZE - 1)
		return false;
	for (uint32_t i = 0; i < sizeof(bytes); i++) {
		unsigned high = offer_name_digit(name[2 * i]),
			 low = offer_name_digit(name[2 * i + 1]);

		if (high > 15 || low > 15)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(hello, bytes, sizeof(bytes));
	return hello->magic == HANDSHAKE_MAGIC && hello->version == HANDSHAKE_VERSION;
}

#endif
