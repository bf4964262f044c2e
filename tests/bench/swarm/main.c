/* swarm: many simulated nodes against one aggregator. It prints one line of JSON: what the nodes said, how long
 * acknowledgements took, and what the aggregator cost in each phase. --help has the options. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "proto/trust/rendezvous.h"
#include "swarm.h"

/* Each node takes five descriptors. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* What a job's agents would read. Returns whether it could be read; *keys is NULL where there are none. */
static bool find_aggregator(struct swarm_options *options, struct rendezvous *rendezvous,
			    const struct key_set **keys)
{
	char *error = NULL;
	int r = 0;

	*keys = NULL;
	if (options->rendezvous) {
		r = rendezvous_read(options->rendezvous, rendezvous, &error);
		if (r == 0 && !options->endpoint)
			options->endpoint = rendezvous->endpoints[0];
	} else if (options->keys_path) {
		r = key_set_read(options->keys_path, KEY_ROLE_AGENT, &rendezvous->keys, &error);
	} else {
		return true;
	}
	if (r)
		fprintf(stderr, "swarm: %s\n", error ? error : strerror(-r));
	free(error);
	*keys = &rendezvous->keys;
	return r == 0;
}

static int write_truth(const struct swarm *swarm)
{
	FILE *file = fopen(swarm->options->truth_path, "w");
	int r = file ? 0 : -errno;

	for (uint32_t i = 0; file && i < swarm->options->nr_nodes; i++)
		node_print_truth(swarm->nodes[i], file);
	if (file && fclose(file))
		r = -errno;
	if (r)
		fprintf(stderr, "swarm: %s: %s\n", swarm->options->truth_path, strerror(-r));
	return r;
}

int main(int argc, char **argv)
{
	static struct rendezvous rendezvous;
	struct swarm_options options;
	const struct key_set *keys;
	struct swarm swarm;
	int r = swarm_options_parse(&options, argc, argv);

	if (r)
		return r < 0 ? 2 : 0;
	if (!find_aggregator(&options, &rendezvous, &keys))
		return 1;
	raise_limit();
	r = swarm_init(&swarm, &options, keys);
	if (r == 0)
		r = swarm_run(&swarm);
	if (r == 0)
		swarm_print(&swarm, stdout);
	if (r == 0 && options.truth_path)
		r = write_truth(&swarm);
	swarm_fini(&swarm);
	return r ? 1 : 0;
}
