#include "metric_options.h"

#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each takes one pass on a GH100, GA100, GB100 and AD102 (CUPTI 13.0). */
static const struct {
	const char *name, *list;
} sets[] = {
	{"sol", "gpu__time_duration.sum,sm__cycles_active.avg,sm__cycles_elapsed.max,"
		"sm__warps_active.avg.pct_of_peak_sustained_active,sm__inst_executed.sum,"
		"sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active,"
		"dram__bytes_read.sum,dram__bytes_write.sum,"
		"dram__throughput.avg.pct_of_peak_sustained_elapsed,"
		"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed,lts__t_bytes.sum,"
		"lts__t_sectors_op_read.sum,l1tex__t_bytes.sum,l1tex__t_sector_hit_rate.pct,"
		"dram__bytes.sum.peak_sustained,dram__cycles_elapsed.avg.per_second"},
	{"roofline",
	 "dram__bytes_read.sum,dram__bytes_write.sum,sm__ops_path_tensor_src_bf16_dst_fp32.sum,"
	 "sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained,"
	 "dram__bytes.sum.peak_sustained,dram__cycles_elapsed.avg.per_second,"
	 "sm__cycles_elapsed.avg.per_second"},
};

static bool is_name(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= 'A' && text[i] <= 'Z') &&
		    !(text[i] >= '0' && text[i] <= '9') && text[i] != '_' && text[i] != '.')
			return false;
	return size < METRIC_OPTIONS_NAME;
}

/* CUPTI takes no name without one, and lists names without them. Some begin with words and dots. */
static bool has_ending(const char *name)
{
	const char *own = strstr(name, "__");

	return strchr(own ? own : name, '.') != NULL;
}

static int add(struct metric_options *options, const char *name, size_t size)
{
	if (size == 0)
		return -ENODATA;
	if (!is_name(name, size))
		return -EINVAL;
	for (uint32_t i = 0; i < options->nr_names; i++)
		if (strlen(options->names[i]) == size && memcmp(options->names[i], name, size) == 0)
			return 0;
	if (options->nr_names == METRIC_OPTIONS_MAX)
		return -E2BIG;
	memcpy(options->names[options->nr_names], name, size);
	options->names[options->nr_names][size] = '\0';
	if (!has_ending(options->names[options->nr_names]))
		return -ENXIO;
	options->nr_names++;
	return 0;
}

/* Adds the items of a list up to `end`. Those of a set are no sets. */
static int add_all(struct metric_options *options, const char *list, char end)
{
	for (;;) {
		size_t size = strcspn(list, end ? ",:" : ",");
		int error = add(options, list, size);

		if (error || list[size] == end)
			return error;
		if (list[size] != ',')
			return -EINVAL;
		list += size + 1;
	}
}

int metric_options_add(struct metric_options *options, const char *list)
{
	for (;;) {
		size_t size = strcspn(list, ",");
		const char *of = NULL;

		for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
			if (strlen(sets[i].name) == size && memcmp(sets[i].name, list, size) == 0)
				of = sets[i].list;
		int error = of ? add_all(options, of, '\0') : add(options, list, size);
		if (error || list[size] == '\0')
			return error;
		list += size + 1;
	}
}

const char *metric_options_refusal(int error)
{
	switch (error) {
	case -E2BIG:
		return "more than 63 metrics";
	case -ENODATA:
		return "a name is missing: sol, roofline, or names of metrics, with commas "
		       "between, are wanted";
	case -ENXIO:
		return "neither sol nor roofline, and no metric with an ending such as .sum "
		       "(flamegrid metrics --chip NAME names them)";
	default:
		return "not sol, roofline, or names of metrics";
	}
}

int metric_options_launches(struct metric_options *options, const char *text)
{
	char *end;
	unsigned long value = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;

	if (value == 0 || value > METRIC_OPTIONS_MOST || (*end && *end != ':'))
		return -EINVAL;
	options->launches = (uint32_t)value;
	return 0;
}

/* Returns a bound on the size of a compiled expression: regcomp() repeats what is repeated. What is repeated may be
 * all that stands before, unless it is one character or one set. */
static uint64_t compiled_size(const char *regex)
{
	uint64_t size = 0;

	for (const char *at = regex; *at && size <= METRIC_OPTIONS_COMPILED; at++) {
		unsigned long least, most;
		char *end;

		size++;
		if (*at != '{' || at == regex)
			continue;
		least = strtoul(at + 1, &end, 10);
		most = *end == ',' ? strtoul(end + 1, NULL, 10) : 0;
		most = most > least ? most : least + 1;
		if (most > METRIC_OPTIONS_COMPILED)
			most = METRIC_OPTIONS_COMPILED;
		size = strchr(")*+?}", at[-1]) ? size * most : size + most;
	}
	return size;
}

int metric_options_regex(struct metric_options *options, const char *regex, bool of_ranges)
{
	regex_t compiled;

	if (strlen(regex) >= sizeof(options->regex))
		return -E2BIG;
	if (compiled_size(regex) > METRIC_OPTIONS_COMPILED)
		return -EOVERFLOW;
	if (*regex) {
		if (regcomp(&compiled, regex, REG_EXTENDED | REG_NOSUB) != 0)
			return -EINVAL;
		regfree(&compiled);
	}
	strcpy(options->regex, regex);
	options->are_ranges = of_ranges;
	return 0;
}

int metric_options_parse(const char *text, struct metric_options *options)
{
	*options = (struct metric_options){0};
	if (!text || !*text)
		return 0;
	const bool of_ranges = metric_options_are_of_ranges(text);
	const char *list = strchr(text, ':');
	const char *regex = list ? strchr(list + 1, ':') : NULL;
	int error = regex ? metric_options_launches(options, text + of_ranges) : -EINVAL;
	if (!error)
		error = add_all(options, list + 1, ':');
	if (!error)
		error = metric_options_regex(options, regex + 1, of_ranges);
	if (error)
		*options = (struct metric_options){0};
	else if (of_ranges)
		strcpy(options->names[options->nr_names], METRIC_OPTIONS_KERNELS);
	return error ? -EINVAL : 0;
}

void metric_options_format(const struct metric_options *options, char text[METRIC_OPTIONS_TEXT])
{
	const uint32_t launches = options->launches ? options->launches : METRIC_OPTIONS_LAUNCHES;
	size_t size = (size_t)snprintf(text, METRIC_OPTIONS_TEXT, "%s%u",
				       options->are_ranges ? "r" : "", launches);

	for (uint32_t i = 0; i < options->nr_names; i++)
		size += (size_t)snprintf(text + size, METRIC_OPTIONS_TEXT - size, "%c%s",
					 i ? ',' : ':', options->names[i]);
	snprintf(text + size, METRIC_OPTIONS_TEXT - size, ":%s", options->regex);
}

const char *metric_options_set(uint32_t number, const char **list)
{
	if (number >= sizeof(sets) / sizeof(*sets))
		return NULL;
	*list = sets[number].list;
	return sets[number].name;
}
