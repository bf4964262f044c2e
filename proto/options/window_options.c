#include "window_options.h"

#include <errno.h>
#include <string.h>

/* Neither strtoull() nor printf(): the guest calls this, and the first is bound to newer C libraries than it may
 * need. */
static const char *take_number(const char *text, uint64_t *number)
{
	uint64_t value = 0;

	if (*text < '0' || *text > '9')
		return NULL;
	for (; *text >= '0' && *text <= '9'; text++) {
		uint64_t digit = (uint64_t)(*text - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return NULL;
		value = value * 10 + digit;
	}
	*number = value;
	return text;
}

static const char *after(const char *text, const char *word)
{
	size_t size = strlen(word);

	return strncmp(text, word, size) == 0 ? text + size : NULL;
}

static const char *take_duty(const char *text, struct window_options *options)
{
	text = take_number(text, &options->on_ns);
	if (!text || *text != '/')
		return NULL;
	text = take_number(text + 1, &options->period_ns);
	return text && options->on_ns > 0 && options->on_ns <= options->period_ns ? text : NULL;
}

/* To the text's end. */
static const char *take_range(const char *text, struct window_options *options)
{
	const char *name = after(text, "nvtx:");

	if (strcmp(text, "profiler") == 0 || strcmp(text, "control") == 0) {
		options->range = *text == 'p' ? WINDOW_RANGE_PROFILER : WINDOW_RANGE_CONTROL;
		return text + strlen(text);
	}
	if (!name || *name == '\0' || strlen(name) > WINDOW_OPTIONS_NAME_MAX)
		return NULL;
	options->range = WINDOW_RANGE_NVTX;
	memcpy(options->range_name, name, strlen(name) + 1);
	return name + strlen(name);
}

static const char *take_every(const char *text, struct window_options *options)
{
	uint64_t every;

	text = take_number(text, &every);
	if (!text || every == 0 || every > WINDOW_OPTIONS_EVERY_MAX)
		return NULL;
	options->every = (uint32_t)every;
	return text;
}

/* Reads one item. Returns the text behind it, or NULL if it was not understood. */
static const char *take_item(const char *text, struct window_options *options)
{
	const char *value;

	if ((value = after(text, "from=")) && options->from_ns == 0)
		return take_number(value, &options->from_ns);
	if ((value = after(text, "until=")) && options->until_ns == 0)
		return take_number(value, &options->until_ns);
	if ((value = after(text, "duty=")) && options->period_ns == 0)
		return take_duty(value, options);
	if ((value = after(text, "dormant")) && !options->dormant) {
		options->dormant = true;
		return value;
	}
	if ((value = after(text, "every=")) && options->every == 0)
		return take_every(value, options);
	if ((value = after(text, "range=")))
		return take_range(value, options);
	return NULL;
}

int window_options_parse(const char *text, struct window_options *options)
{
	memset(options, 0, sizeof(*options));
	if (!text || *text == '\0')
		return 0;
	for (;;) {
		text = take_item(text, options);
		if (text && *text == '\0')
			return 0;
		if (!text || *text != ',') {
			memset(options, 0, sizeof(*options));
			return -EINVAL;
		}
		text++;
	}
}

static char *put_text(char *at, const char *text)
{
	size_t size = strlen(text);

	memcpy(at, text, size + 1);
	return at + size;
}

static char *put_number(char *at, uint64_t number)
{
	char digits[20];
	size_t nr = 0;

	do
		digits[nr++] = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	while (nr)
		*at++ = digits[--nr];
	*at = '\0';
	return at;
}

static char *put_word(char *at, const char *start, const char *word)
{
	return put_text(at == start ? at : put_text(at, ","), word);
}

void window_options_format(const struct window_options *options, char text[WINDOW_OPTIONS_SIZE])
{
	char *at = text;

	*at = '\0';
	if (options->from_ns)
		at = put_number(put_word(at, text, "from="), options->from_ns);
	if (options->until_ns)
		at = put_number(put_word(at, text, "until="), options->until_ns);
	if (options->period_ns) {
		at = put_number(put_word(at, text, "duty="), options->on_ns);
		at = put_number(put_text(at, "/"), options->period_ns);
	}
	if (options->dormant)
		at = put_word(at, text, "dormant");
	if (options->every)
		at = put_number(put_word(at, text, "every="), options->every);
	if (options->range == WINDOW_RANGE_PROFILER)
		at = put_word(at, text, "range=profiler");
	if (options->range == WINDOW_RANGE_CONTROL)
		at = put_word(at, text, "range=control");
	if (options->range == WINDOW_RANGE_NVTX)
		at = put_text(put_word(at, text, "range=nvtx:"), options->range_name);
}
