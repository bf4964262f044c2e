#include "api_options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static bool is_allowed(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '*';
}

int api_options_check(const char *text)
{
	size_t in_word = 0;

	if (!text || *text == '\0')
		return 0;
	if (strnlen(text, API_OPTIONS_SIZE_MAX + 1) > API_OPTIONS_SIZE_MAX)
		return -E2BIG;
	for (; *text; text++) {
		if (*text == ',' && in_word == 0)
			return -EINVAL;
		if (*text != ',' && !is_allowed(*text))
			return -EINVAL;
		in_word = *text == ',' ? 0 : in_word + 1;
	}
	return in_word ? 0 : -EINVAL;
}

/* On a mismatch the last `*` takes one character more. That suffices, because an earlier one never has to. */
static bool matches(const char *pattern, size_t size, const char *name)
{
	const char *end = pattern + size, *star = NULL, *resume = NULL;

	while (*name) {
		if (pattern < end && *pattern == '*') {
			star = pattern++;
			resume = name;
		} else if (pattern < end && *pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star + 1;
			name = ++resume;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

static bool is_word(const char *word, size_t size, const char *wanted)
{
	return strlen(wanted) == size && memcmp(word, wanted, size) == 0;
}

bool api_options_match(const char *text, enum api_domain domain, const char *name)
{
	if (!text || *text == '\0')
		return false;
	for (;;) {
		size_t size = strcspn(text, ",");

		if (is_word(text, size, "all") ||
		    is_word(text, size, domain == API_DRIVER ? "driver" : "runtime") ||
		    matches(text, size, name))
			return true;
		if (text[size] == '\0')
			return false;
		text += size + 1;
	}
}
