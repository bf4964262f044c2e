#include "bpf_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_text.h"
#include "proto/options/duration.h"

#define BUFFER_MAX_KIB (1u << 20)

static int refuse(const char *name, const char *value, const char *what, char **error)
{
	return error_text_set(error, -EINVAL, "--%s %s: %s", name, value, what);
}

static bool take_number(const char *value, uint32_t max, uint32_t *number)
{
	size_t digits = strspn(value, "0123456789");
	unsigned long taken = strtoul(value, NULL, 10);

	if (digits == 0 || digits > 9 || value[digits] != '\0' || taken > max)
		return false;
	*number = (uint32_t)taken;
	return true;
}

int bpf_options_take(struct bpf_options *options, const char *name, const char *value, char **error)
{
	uint32_t number;

	*error = NULL;
	if (strcmp(name, "cpu-hz") == 0)
		return take_number(value, BPF_OPTIONS_HZ_MAX, &options->cpu_hz)
			       ? 0
			       : refuse(name, value,
					"must be a number of samples a second, 0 to 10000", error);
	if (strcmp(name, "off-cpu") == 0)
		return duration_parse(value, &options->off_cpu_min_ns, NULL) == 0 &&
				       options->off_cpu_min_ns
			       ? 0
			       : refuse(name, value, "must be a time such as 1ms or 100us", error);
	if (strcmp(name, "host-calls") == 0) {
		options->calls_auto = strcmp(value, "auto") == 0;
		options->host_calls = options->calls_auto || strcmp(value, "on") == 0;
		return options->host_calls || strcmp(value, "off") == 0
			       ? 0
			       : refuse(name, value, "must be on, off or auto", error);
	}
	if (strcmp(name, "stack-copy") == 0) {
		if (!take_number(value, 4 * BPF_OPTIONS_STACK_PAGES_MAX, &number) || number % 4)
			return refuse(name, value, "must be a multiple of 4 KiB, 32 at most",
				      error);
		options->stack_pages = number / 4;
		return 0;
	}
	if (strcmp(name, "bpf-buffer") != 0)
		return -ENOENT;
	if (!take_number(value, BUFFER_MAX_KIB, &number) || number == 0)
		return refuse(name, value, "must be a number of KiB, 1 to 1048576", error);
	options->ring_bytes = number * 1024u;
	return 0;
}

bool bpf_options_wanted(const struct bpf_options *options)
{
	return options->cpu_hz || options->off_cpu_min_ns || options->host_calls;
}
