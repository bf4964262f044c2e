#include "kernel_clock.h"

#include <stdio.h>
#include <string.h>

#define NS_PER_S 1000000000ll
#define S_MAX    (INT64_MAX / 4 / NS_PER_S) /* 73 years: sums of four still fit */
#define TEXT_MAX 256u
/* time_namespaces(7) says that this file describes the namespace of children. exec has entered that namespace, and the
 * process has not left it since. */
#define OFFSETS_FILE "/proc/self/timens_offsets"

static int64_t find(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	long long seconds, ns;

	if (!line || sscanf(line + strlen(name), "%lld %lld", &seconds, &ns) != 2 ||
	    seconds > S_MAX || seconds < -S_MAX || ns < 0 || ns >= NS_PER_S)
		return 0;
	return seconds * NS_PER_S + ns;
}

void kernel_clock_parse(const char *text, struct kernel_clock *clock)
{
	clock->monotonic_ns = find(text, "monotonic");
	clock->boottime_ns = find(text, "boottime");
}

void kernel_clock_read(struct kernel_clock *clock)
{
	char text[TEXT_MAX] = "";
	FILE *file = fopen(OFFSETS_FILE, "re");

	if (file) {
		text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
		fclose(file);
	}
	kernel_clock_parse(text, clock);
}
