#include "swarm_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S 1e9

static const char USAGE[] =
	"Usage: swarm --connect ENDPOINT [OPTION...]\n"
	"Speaks to one aggregator as many node agents do, and knows what it said.\n\n"
	"      --connect ENDPOINT     Is where the aggregator listens.\n"
	"      --rendezvous FILE      Names the endpoint and the keys, as of a job.\n"
	"      --key-file FILE        Has an agent's keys.\n"
	"      --job KEY              Is the job of all nodes, which is the user swarm's.\n"
	"      --agents N             Is how many nodes there are; default 10.\n"
	"      --processes N          Is how many processes a node has; default 8.\n"
	"      --gpus N               Is how many GPUs a process has; default 1.\n"
	"      --rate N               Is launches per second and GPU; default 125.\n"
	"      --keys N               Is how many stacks and kernels there are; default 3000.\n"
	"      --seconds S            Is how long launches are made; default 10.\n"
	"      --tick-ms N            Is how often a process's events are sent; default 100.\n"
	"      --flush-ms N           Is how often GPU records are delivered; default 500.\n"
	"      --unpaced              Goes on as soon as the aggregator has kept pace.\n"
	"      --window-frames N      Is how far it may be behind then; default 1024.\n"
	"      --collectives-per-s N  Is all_reduces of each process; default 10.\n"
	"      --jitter PCT           Varies each rank's time to a collective; default 2.\n"
	"      --late RANK:PCT        Makes one rank late for each.\n"
	"      --late-node NODE:PCT   Makes all ranks of one node late for each.\n"
	"      --samples N            Is host samples per second and process; default 0.\n"
	"      --kill NODE@S          Lets a node die after S seconds; may be repeated.\n"
	"      --via NODE@ENDPOINT    Lets a node connect to a proxy; may be repeated.\n"
	"      --seed N               Decides what is random; default 1.\n"
	"      --truth FILE           Is written: a line of JSON for each GPU.\n"
	"      --watch PID            Is the aggregator's process, whose costs are told.\n";

enum option_number {
	OPTION_CONNECT = 1,
	OPTION_RENDEZVOUS,
	OPTION_KEY_FILE,
	OPTION_JOB,
	OPTION_AGENTS,
	OPTION_PROCESSES,
	OPTION_GPUS,
	OPTION_RATE,
	OPTION_KEYS,
	OPTION_SECONDS,
	OPTION_TICK_MS,
	OPTION_FLUSH_MS,
	OPTION_UNPACED,
	OPTION_WINDOW_FRAMES,
	OPTION_COLLECTIVES,
	OPTION_JITTER,
	OPTION_LATE,
	OPTION_LATE_NODE,
	OPTION_SAMPLES,
	OPTION_KILL,
	OPTION_VIA,
	OPTION_SEED,
	OPTION_TRUTH,
	OPTION_WATCH,
	OPTION_HELP,
};

static const struct option OPTIONS[] = {
	{"connect", 1, NULL, OPTION_CONNECT},
	{"rendezvous", 1, NULL, OPTION_RENDEZVOUS},
	{"key-file", 1, NULL, OPTION_KEY_FILE},
	{"job", 1, NULL, OPTION_JOB},
	{"agents", 1, NULL, OPTION_AGENTS},
	{"processes", 1, NULL, OPTION_PROCESSES},
	{"gpus", 1, NULL, OPTION_GPUS},
	{"rate", 1, NULL, OPTION_RATE},
	{"keys", 1, NULL, OPTION_KEYS},
	{"seconds", 1, NULL, OPTION_SECONDS},
	{"tick-ms", 1, NULL, OPTION_TICK_MS},
	{"flush-ms", 1, NULL, OPTION_FLUSH_MS},
	{"unpaced", 0, NULL, OPTION_UNPACED},
	{"window-frames", 1, NULL, OPTION_WINDOW_FRAMES},
	{"collectives-per-s", 1, NULL, OPTION_COLLECTIVES},
	{"jitter", 1, NULL, OPTION_JITTER},
	{"late", 1, NULL, OPTION_LATE},
	{"late-node", 1, NULL, OPTION_LATE_NODE},
	{"samples", 1, NULL, OPTION_SAMPLES},
	{"kill", 1, NULL, OPTION_KILL},
	{"via", 1, NULL, OPTION_VIA},
	{"seed", 1, NULL, OPTION_SEED},
	{"truth", 1, NULL, OPTION_TRUTH},
	{"watch", 1, NULL, OPTION_WATCH},
	{"help", 0, NULL, OPTION_HELP},
	{0},
};

/* A whole number of at least min. */
static int take_count(const char *text, uint32_t min, uint32_t *count)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (end == text || *end || value < min || value > UINT32_MAX)
		return -EINVAL;
	*count = (uint32_t)value;
	return 0;
}

static int take_number(const char *text, double min, double *number)
{
	char *end;

	*number = strtod(text, &end);
	return end == text || *end || !(*number >= min) ? -EINVAL : 0;
}

/* "INDEX:PERCENT" */
static int take_late(const char *text, int *index, double *by)
{
	char rest;

	if (sscanf(text, "%d:%lf%c", index, by, &rest) != 2 || *index < 0 || *by < 0)
		return -EINVAL;
	*by /= 100;
	return 0;
}

/* "NODE@REST" */
static int take_node(const char *text, uint32_t *node, const char **rest)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end != '@' || value > UINT32_MAX)
		return -EINVAL;
	*node = (uint32_t)value;
	*rest = end + 1;
	return 0;
}

static int take_kill(struct swarm_options *options, const char *text)
{
	struct swarm_kill *kill = &options->kills[options->nr_kills];
	const char *rest;
	double seconds;

	if (options->nr_kills == SWARM_KILLS_MAX || take_node(text, &kill->node, &rest) ||
	    take_number(rest, 0, &seconds))
		return -EINVAL;
	kill->at_ns = (uint64_t)(seconds * NS_PER_S);
	options->nr_kills++;
	return 0;
}

static int take_detour(struct swarm_options *options, const char *text)
{
	struct swarm_detour *detour = &options->detours[options->nr_detours];

	if (options->nr_detours == SWARM_DETOURS_MAX ||
	    take_node(text, &detour->node, &detour->endpoint))
		return -EINVAL;
	options->nr_detours++;
	return 0;
}

/* The options that shape the swarm. -ENOENT: it is none of them. */
static int take_shape(struct swarm_options *options, int number, const char *text)
{
	switch (number) {
	case OPTION_AGENTS:
		return take_count(text, 1, &options->nr_nodes);
	case OPTION_PROCESSES:
		return take_count(text, 1, &options->nr_processes);
	case OPTION_GPUS:
		return take_count(text, 1, &options->nr_gpus);
	case OPTION_RATE:
		return take_number(text, 0.001, &options->rate);
	case OPTION_KEYS:
		return take_count(text, 1, &options->nr_keys);
	case OPTION_SECONDS:
		return take_number(text, 0, &options->seconds);
	case OPTION_TICK_MS:
		return take_count(text, 1, &options->tick_ms);
	case OPTION_FLUSH_MS:
		return take_count(text, 1, &options->flush_ms);
	case OPTION_WINDOW_FRAMES:
		return take_count(text, 1, &options->window_frames);
	case OPTION_COLLECTIVES:
		return take_number(text, 0, &options->collectives_per_s);
	case OPTION_SAMPLES:
		return take_number(text, 0, &options->samples_per_s);
	case OPTION_LATE:
		return take_late(text, &options->late_rank, &options->late_rank_by);
	case OPTION_LATE_NODE:
		return take_late(text, &options->late_node, &options->late_node_by);
	case OPTION_JITTER:
		options->jitter = -1;
		if (take_number(text, 0, &options->jitter))
			return -EINVAL;
		options->jitter /= 100;
		return 0;
	default:
		return -ENOENT;
	}
}

static int take(struct swarm_options *options, int number, char *text)
{
	uint32_t count = 0;
	int r = take_shape(options, number, text);

	if (r != -ENOENT)
		return r;
	switch (number) {
	case OPTION_CONNECT:
		options->endpoint = text;
		return 0;
	case OPTION_RENDEZVOUS:
		options->rendezvous = text;
		return 0;
	case OPTION_JOB:
		options->job = text;
		return 0;
	case OPTION_KEY_FILE:
		options->keys_path = text;
		return 0;
	case OPTION_TRUTH:
		options->truth_path = text;
		return 0;
	case OPTION_UNPACED:
		options->unpaced = true;
		return 0;
	case OPTION_KILL:
		return take_kill(options, text);
	case OPTION_VIA:
		return take_detour(options, text);
	case OPTION_SEED:
		r = take_count(text, 0, &count);
		options->seed = count;
		return r;
	case OPTION_WATCH:
		r = take_count(text, 1, &count);
		options->watched_pid = (int)count;
		return r;
	default:
		return -EINVAL;
	}
}

int swarm_options_parse(struct swarm_options *options, int argc, char **argv)
{
	int number, index = 0;

	*options = (struct swarm_options){
		.nr_nodes = 10,
		.nr_processes = 8,
		.nr_gpus = 1,
		.rate = 125,
		.nr_keys = 3000,
		.seconds = 10,
		.tick_ms = 100, /* as agents do (read_delay.h) */
		.flush_ms = 500,
		.window_frames = 1024,
		.collectives_per_s = 10,
		.jitter = 0.02,
		.late_rank = -1,
		.late_node = -1,
		.seed = 1,
	};
	while ((number = getopt_long(argc, argv, "", OPTIONS, &index)) != -1) {
		if (number == OPTION_HELP) {
			fputs(USAGE, stdout);
			return 1;
		}
		if (number == '?')
			return -EINVAL;
		if (take(options, number, optarg)) {
			fprintf(stderr, "swarm: --%s: not a value: %s\n", OPTIONS[index].name,
				optarg ? optarg : "");
			return -EINVAL;
		}
	}
	if (optind < argc || !(options->endpoint || options->rendezvous)) {
		fputs("swarm: --connect or --rendezvous is needed, and nothing beside options\n",
		      stderr);
		return -EINVAL;
	}
	if (options->nr_processes > SWARM_PROCESSES_MAX || options->nr_gpus > SWARM_GPUS_MAX) {
		fputs("swarm: too many processes of a node, or GPUs of a process\n", stderr);
		return -EINVAL;
	}
	return 0;
}

uint64_t swarm_options_death_ns(const struct swarm_options *options, uint32_t node)
{
	for (uint32_t i = 0; i < options->nr_kills; i++)
		if (options->kills[i].node == node)
			return options->kills[i].at_ns;
	return UINT64_MAX;
}

const char *swarm_options_endpoint(const struct swarm_options *options, uint32_t node)
{
	for (uint32_t i = 0; i < options->nr_detours; i++)
		if (options->detours[i].node == node)
			return options->detours[i].endpoint;
	return options->endpoint;
}
