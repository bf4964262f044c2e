#include "step_run.h"

#include "own_rendezvous.h"

#include "base/clock.h"
#include "base/log.h"

/* Without the step's key a node cannot tell whose aggregator is lost, or whose file it finds. */
static void say_unnamed(const struct job_step *step)
{
	if (step->rank == 0 && !*step->key)
		log_notice("the launcher gives this job no name, and it has several nodes, so: no "
			   "other node takes over if this one is lost; nodes that never come are "
			   "not noticed; another such job at the same time needs a directory of "
			   "its own (--output)");
}

int step_run_start(struct step_run *run, const struct job_step *step,
		   const struct step_run_options *options)
{
	const struct node_profile_options profile = {
		.spool = options->spool,
		.title = options->title,
		.node_name = options->agent.node_name,
		.nr_nodes = step->nr_nodes,
		.job = options->site ? &options->site->job : NULL,
		.raw_samples = options->raw_samples,
		.bytes_max = options->bytes_max,
		.timeline = options->site ? (struct event_log_options){0} : options->timeline,
	};
	const struct job_keeper_options job = {
		.step = step,
		.fan_in = options->fan_in,
		.output_path = options->output_path,
		.interface = options->interface,
		.title = options->title,
		.names = options->names,
		.watch = options->watch,
		.raw_samples = options->raw_samples,
		.bytes_max = options->bytes_max,
		.timeline = options->timeline,
		.folds_on_nodes = options->folds_on_nodes,
	};
	struct node_keeper_options node = {
		.step = step,
		.output_path = options->output_path,
		.site = options->site,
		.task = options->task,
		.profile = options->folds_on_nodes || options->asks ? &profile : NULL,
		.asks = options->asks,
		.job = &job,
		.agent = options->agent,
	};
	int r = 0;

	*run = (struct step_run){.aggregator.fd = -1, .member.fd = -1};
	run->folds_on_nodes = options->folds_on_nodes;
	run->asks = options->asks;
	run->site_endpoint = options->site && step->rank == 0 ? options->site->endpoint : NULL;
	/* The aggregator starts first, so that this node's agent finds it soon. Without it the step still shares one
	 * agent. */
	if (step->rank == 0 && !options->site)
		r = job_keeper_start(&run->aggregator, &job);
	/* Nobody will find an aggregator, so the node keeps what it has. */
	if (r && !options->strict && own_rendezvous_is_taken(options->output_path, step)) {
		node.profile = &profile;
		node.asks = run->asks = false;
		run->folds_on_nodes = true;
		r = 0;
	}
	if (r == 0)
		r = node_member_join(&run->member, &node);
	if (r) {
		job_keeper_end(&run->aggregator, true, clock_now_ns());
		job_keeper_await(&run->aggregator, NULL, NULL);
		return r;
	}
	step_dir_file(&run->member.dir, STEP_DIR_AGENT, run->socket_path, sizeof(run->socket_path));
	if (!options->site)
		say_unnamed(step);
	return 0;
}

void step_run_finish(struct step_run *run, bool failed)
{
	const uint64_t ended_ns = clock_now_ns();
	struct node_member_answer answer;

	job_keeper_end(&run->aggregator, failed, ended_ns);
	node_member_drain(&run->member, ended_ns, &answer);
	if (answer.is_gone)
		log_warning(
			"the agent of this node was ended by somebody: the last of what this rank "
			"recorded may be missing in the profile%s",
			run->folds_on_nodes
				? "; the node's own one stays in its directory, flamegrid-node-… "
				  "(--spool, else $TMPDIR or /tmp), and flamegrid merge adds it"
			: run->asks ? "; if the node kept a profile of its own, that stays in its "
				      "directory, flamegrid-node-… (--spool, else $TMPDIR or /tmp)"
				    : "");
	else if (!answer.stored && !answer.said)
		log_warning("the last of what this rank recorded may be missing in the profile: "
			    "the aggregator has not confirmed it");
	if (answer.stored && run->site_endpoint && *answer.place)
		log_notice("the profile is %s", answer.place);
	else if (answer.stored && run->site_endpoint)
		log_notice("the profile is with the aggregator at %s, which has not said where",
			   run->site_endpoint);
	const enum node_member_end end = node_member_leave(&run->member, ended_ns);
	if (end == NODE_MEMBER_WRITES)
		log_notice("the aggregator of other nodes, which is beside this rank, goes on "
			   "alone; flamegrid report reads the profile at any time");
	else if (end == NODE_MEMBER_SENDS && (run->folds_on_nodes || answer.keeps))
		log_notice(
			"the profile of this node goes on alone to the job's: until it is there, "
			"it is in its directory, flamegrid-node-… (--spool, else $TMPDIR or "
			"/tmp), and flamegrid merge adds it");
	job_keeper_await(&run->aggregator, NULL, NULL);
}
