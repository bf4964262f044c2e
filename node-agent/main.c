#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent.h"
#include "agent_rights.h"

#include "base/log.h"
#include "node-agent/symbols/symbol_cache.h"
#include "node-agent/watch/bpf_options.h"
#include "proto/install_paths.h"
#include "proto/trust/endpoint.h"
#include "proto/trust/key_set.h"

enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

static const char usage[] =
	"usage: flamegrid-agent --connect ENDPOINT --socket PATH [options]\n"
	"\n"
	"Takes in profiled processes of this node and sends what they record to one aggregator.\n"
	"\n"
	"  --connect ENDPOINT  the aggregator, like tcp://127.0.0.1:7040 or ipc:///run/flamegrid\n"
	"  --socket PATH       the Unix socket where processes connect (their FLAMEGRID_SOCKET)\n"
	"  --node-name NAME    the node's name in reports (default: Slurm's, else the hostname)\n"
	"  --devices FILE      the node's GPUs, lines `INDEX PCI_BUS_ID UUID NAME...`, instead of\n"
	"                      what the PCI buses show\n"
	"  --stack-source guest|uprobe|auto\n"
	"                      who walks launch stacks: the processes themselves (default, and "
	"auto),\n"
	"                      or the kernel, which takes root or CAP_BPF and CAP_PERFMON\n"
	"  --inlines           find source lines and inlined functions, too: slower, with much "
	"more\n"
	"                      memory\n"
	"  --symbol-cache DIR  where symbol tables are kept for the next time, or off (default:\n"
	"                      $XDG_CACHE_HOME/flamegrid/symbols, else "
	"~/.cache/flamegrid/symbols)\n"
	"  --keys FILE         the aggregator's agents' keys (flamegrid keygen makes them): it "
	"proves to "
	"be\n"
	"                      that one, and nobody else can read what passes\n"
	"  --insecure          without keys: allow an endpoint that other machines can reach, "
	"unprotected\n"
	"  --cpu-hz N          sample the CPUs N times a second: what the threads of watched "
	"processes "
	"do\n"
	"  --off-cpu TIME      record their waits of this length or more, such as 1ms\n"
	"  --stack-copy KIB    how much of a stack is copied with each sample, 0 to 32 "
	"(default: "
	"32)\n"
	"  --host-calls on|off|auto\n"
	"                      time their calls of CUDA and NCCL where they have no guest; auto: "
	"where none captures (default: off)\n"
	"  --bpf-buffer KIB    room for these between two reads (default: half a second of "
	"samples, 8192 to\n"
	"                      131072; with calls 65536 at least)\n"
	"  --watch-pid PID     watch this process and all that it starts, beside those that are "
	"taken "
	"in\n"
	"  --any-user          take in processes of all users, not only of this one and root\n"
	"  --quiet             print nothing but warnings and errors\n"
	"  --log-level LEVEL   print messages from this level on: error, warning, notice, info\n"
	"                      (default) or debug\n"
	"  -v                  --log-level debug\n"
	"  --help, --version\n";

struct arguments {
	struct agent_options options;
	const char *symbol_cache, *keys_path;
	struct key_set keys;
	int insecure;
};

static bool take_bpf(struct bpf_options *options, const char *name, const char *value)
{
	char *error = NULL;
	int r = 0;

	if (strcmp(name, "watch-pid") != 0)
		r = bpf_options_take(options, name, value, &error);
	else if ((options->watch_pid = atoi(value)) <= 0)
		r = -EINVAL;
	if (r)
		log_error("arguments: %s", error ? error : "--watch-pid: must be a process id");
	free(error);
	return r == 0;
}

static bool take_stack_source(struct probe_source_options *options, const char *value)
{
	if (stack_source_parse(value, &options->source) == 0)
		return true;
	log_error("arguments: --stack-source: %s: not guest, uprobe or auto", value);
	return false;
}

static const struct option long_options[] = {
	{"connect", required_argument, NULL, 'c'},
	{"socket", required_argument, NULL, 's'},
	{"node-name", required_argument, NULL, 'n'},
	{"devices", required_argument, NULL, 'd'},
	{"stack-source", required_argument, NULL, 'S'},
	{"inlines", no_argument, NULL, 'l'},
	{"symbol-cache", required_argument, NULL, 'y'},
	{"keys", required_argument, NULL, 'k'},
	{"insecure", no_argument, NULL, 'i'},
	{"any-user", no_argument, NULL, 'a'},
	{"cpu-hz", required_argument, NULL, 'b'},
	{"off-cpu", required_argument, NULL, 'b'},
	{"stack-copy", required_argument, NULL, 'b'},
	{"host-calls", required_argument, NULL, 'b'},
	{"bpf-buffer", required_argument, NULL, 'b'},
	{"watch-pid", required_argument, NULL, 'b'},
	{"quiet", no_argument, NULL, 'q'},
	{"log-level", required_argument, NULL, 'L'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{0},
};

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
	int option, index = 0;

	while ((option = getopt_long(argc, argv, "v", long_options, &index)) != -1) {
		switch (option) {
		case 'c':
			arguments->options.endpoint = optarg;
			break;
		case 's':
			arguments->options.socket_path = optarg;
			break;
		case 'n':
			arguments->options.node_name = optarg;
			break;
		case 'd':
			arguments->options.devices_path = optarg;
			break;
		case 'S':
			if (!take_stack_source(&arguments->options.probe, optarg))
				return EXIT_USAGE;
			break;
		case 'l':
			arguments->options.inlines = true;
			break;
		case 'y':
			arguments->symbol_cache = optarg;
			break;
		case 'k':
			arguments->keys_path = optarg;
			break;
		case 'i':
			arguments->insecure = 1;
			break;
		case 'a':
			arguments->options.any_user = true;
			break;
		case 'b':
			if (!take_bpf(&arguments->options.bpf, long_options[index].name, optarg))
				return EXIT_USAGE;
			break;
		case 'q':
			log_set_level(LOG_LEVEL_WARNING);
			break;
		case 'v':
			log_set_level(LOG_LEVEL_DEBUG);
			break;
		case 'L':
			if (!log_take_level(optarg))
				return EXIT_USAGE;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_OK;
		case 'V':
			puts("flamegrid-agent " FLAMEGRID_VERSION);
			return EXIT_OK;
		default: /* getopt_long() has said what is wrong */
			return EXIT_USAGE;
		}
	}
	return -1;
}

static int check(int argc, char **argv, const struct arguments *arguments)
{
	const char *endpoint = arguments->options.endpoint;

	if (optind < argc)
		log_error("arguments: %s: not an option", argv[optind]);
	else if (!endpoint)
		log_error("arguments: --connect: it is needed");
	else if (!arguments->options.socket_path)
		log_error("arguments: --socket: it is needed");
	else if (!endpoint_is_local(endpoint) && !arguments->keys_path && !arguments->insecure)
		log_error("connect: %s: other machines can reach it and nothing protects it: "
			  "--keys does; --insecure allows that",
			  endpoint);
	else
		return -1;
	return EXIT_USAGE;
}

/* 0 or the exit code. */
static int read_keys(struct arguments *arguments)
{
	char *error;
	int r;

	if (!arguments->keys_path)
		return EXIT_OK;
	r = key_set_read(arguments->keys_path, KEY_ROLE_AGENT, &arguments->keys, &error);
	if (r)
		log_error("--keys: %s", error ? error : strerror(-r));
	free(error);
	arguments->options.keys = &arguments->keys;
	return r ? EXIT_FAILED : EXIT_OK;
}

static void *wait_for_signal(void *argument)
{
	struct agent *agent = argument;
	sigset_t signals;
	int signal;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigwait(&signals, &signal);
	agent_stop(agent);
	return NULL;
}

/* Signals are taken by a thread of their own, from which everything may be called. */
static int run(struct agent *agent)
{
	pthread_t waiter;
	int r = -pthread_create(&waiter, NULL, wait_for_signal, agent);

	if (r) {
		log_error("start: signals: %s", strerror(-r));
		return r;
	}
	r = agent_run(agent);
	pthread_cancel(waiter);
	pthread_join(waiter, NULL);
	return r;
}

/* glibc keeps what a thread frees, seven blocks of each size below 1 KiB, and with them whole pages, for as long as the
 * thread lives. Only the environment with which a program begins can forbid it, so the agent begins once more. That
 * does not help where it has more rights than its caller. There, or where this fails, it is as good, and larger. */
static void keep_no_freed_blocks(char **argv)
{
	char path[PATH_MAX];

	if (getauxval(AT_SECURE) || getenv("GLIBC_TUNABLES"))
		return;
	if (install_paths_program(argv[0], path) ||
	    setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1))
		return;
	execv(path, argv);
	unsetenv("GLIBC_TUNABLES");
}

/* Large blocks go back to the system when they are freed: what one guest made us take must not stay ours for good. */
static void give_memory_back(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 128 << 10);
	/* Threads that close descriptors come and go, and would each leave a heap of its own. */
	mallopt(M_ARENA_MAX, 1);
}

/* Each guest takes two descriptors. Without the right to more, fewer get in. */
static void raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* All is open that takes more. */
static int give_up(const struct capability_set *rights)
{
	char text[CAPABILITY_SET_TEXT_MAX];
	int r = capability_set_keep(rights);

	if (r)
		log_error("start: capabilities cannot be given up: %s", strerror(-r));
	else
		log_info("keeps %s", capability_set_text(rights, text));
	return r;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.options.bpf.stack_pages = BPF_OPTIONS_STACK_PAGES_MAX};
	struct capability_set rights;
	struct agent *agent;
	char *error = NULL, *symbol_cache;
	sigset_t signals;

	keep_no_freed_blocks(argv);
	log_begin("flamegrid-agent", NULL, LOG_LEVEL_INFO);
	int code = parse(argc, argv, &arguments);

	if (code < 0)
		code = check(argc, argv, &arguments);
	if (code < 0 && read_keys(&arguments))
		code = EXIT_FAILED;
	if (code >= 0)
		return code;
	if (!arguments.keys_path && !endpoint_is_local(arguments.options.endpoint))
		log_warning("warning: %s: what is sent there can be read and forged on the way",
			    arguments.options.endpoint);

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);

	give_memory_back();
	raise_limit();
	arguments.options.may_restart = true;
	symbol_cache = symbol_cache_directory(arguments.symbol_cache);
	arguments.options.symbol_cache = symbol_cache;
	agent_rights_choose(&arguments.options, false, &rights);
	arguments.options.rights = &rights;
	int r = agent_create(&arguments.options, &agent, &error);
	free(symbol_cache);
	if (r) {
		log_error("%s", error ? error : "start: no memory");
		free(error);
		return EXIT_FAILED;
	}
	code = give_up(&rights) ? EXIT_FAILED : EXIT_OK;
	if (code == EXIT_OK) {
		log_info("listening on %s", arguments.options.socket_path);
		code = run(agent) ? EXIT_FAILED : EXIT_OK;
	}
	agent_destroy(agent);
	return code;
}
