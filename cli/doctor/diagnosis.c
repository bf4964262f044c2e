#include "diagnosis.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "counters_answer.h"
#include "nvml_answer.h"
#include "sampling_rights.h"

#include "cli/base/job_environment.h"
#include "cli/base/private_dir.h"
#include "cli/base/site_config.h"
#include "cli/run/run_options.h"
#include "inject/base/memory_limits.h"
#include "inject/capture/guest_sizes.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/cupti_search.h"
#include "node-agent/base/capability_set.h"
#include "node-agent/base/device_list.h"
#include "node-agent/base/device_topology.h"
#include "node-agent/base/driver_version.h"
#include "node-agent/kernel/bpf_rights.h"
#include "proto/counter_refusal.h"
#include "proto/device_telemetry.h"
#include "proto/install_paths.h"
#include "report/telemetry/gpu_telemetry.h"

#define FILES_WANTED 1024u
#define PARANOID     "/proc/sys/kernel/perf_event_paranoid"
#define PARANOID_MAX 2 /* with a higher level an unprivileged user may not sample */

static const char *const library_folders[] = {
	"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib",
	"/lib/x86_64-linux-gnu",     "/lib64",     "/usr/local/nvidia/lib64",
	"/usr/local/cuda/compat",
};

__attribute__((format(printf, 4, 5))) static struct diagnosis_finding *
find(struct diagnosis *diagnosis, const char *subject, enum diagnosis_verdict verdict,
     const char *format, ...)
{
	struct diagnosis_finding *finding = &diagnosis->findings[diagnosis->count++];
	va_list arguments;

	finding->subject = subject;
	finding->verdict = verdict;
	finding->remedy[0] = '\0';
	va_start(arguments, format);
	vsnprintf(finding->text, sizeof(finding->text), format, arguments);
	va_end(arguments);
	return finding;
}

__attribute__((format(printf, 2, 3))) static void remedy(struct diagnosis_finding *finding,
							 const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding->remedy, sizeof(finding->remedy), format, arguments);
	va_end(arguments);
}

static void ask_installation(struct diagnosis *diagnosis, const char *program)
{
	struct install_paths paths;
	int result = install_paths_find(program, &paths);

	if (result == 0) {
		find(diagnosis, "guest", DIAGNOSIS_GOOD, "%s", paths.inject);
		return;
	}
	remedy(find(diagnosis, "guest", DIAGNOSIS_PROBLEM,
		    "the library that the CUDA driver is to load is not there: %s: %s",
		    paths.inject, strerror(-result)),
	       "unpack or install all of Flamegrid: bin/ and lib/ belong together");
}

static bool read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool read = file && fgets(line, (int)size, file);

	if (file)
		fclose(file);
	if (read)
		line[strcspn(line, "\n")] = '\0';
	return read;
}

/* Returns the file in the loader's search path or the usual folders. */
static bool find_library(const char *name, char path[PATH_MAX])
{
	const char *list = getenv("LD_LIBRARY_PATH");

	for (const char *folder = list; folder && *folder;) {
		size_t size = strcspn(folder, ":");

		snprintf(path, PATH_MAX, "%.*s/%s", (int)size, folder, name);
		if (size && access(path, R_OK) == 0)
			return true;
		folder += size + (folder[size] == ':');
	}
	for (size_t i = 0; i < sizeof(library_folders) / sizeof(library_folders[0]); i++) {
		snprintf(path, PATH_MAX, "%s/%s", library_folders[i], name);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

static void ask_driver(struct diagnosis *diagnosis)
{
	char path[PATH_MAX], version[256];

	if (!find_library("libcuda.so.1", path)) {
		remedy(find(diagnosis, "driver", DIAGNOSIS_PROBLEM,
			    "no libcuda.so.1: nothing here can use CUDA"),
		       "install NVIDIA's driver; in a container, start it with the GPUs (--gpus "
		       "all, --nv)");
		return;
	}
	if (read_line(DRIVER_VERSION_PATH, version, sizeof(version)))
		find(diagnosis, "driver", DIAGNOSIS_GOOD, "%s; %s", path, version);
	else
		find(diagnosis, "driver", DIAGNOSIS_NOTE,
		     "%s; the kernel's part is not loaded, or not visible (" DRIVER_VERSION_PATH
		     ")",
		     path);
}

static void ask_devices(struct diagnosis *diagnosis)
{
	struct device_list devices = {0};
	int result = device_topology_read(&devices);

	if (result < 0)
		find(diagnosis, "GPUs", DIAGNOSIS_NOTE, "hwloc cannot read the PCI buses: %s",
		     strerror(-result));
	else if (devices.count == 0)
		remedy(find(diagnosis, "GPUs", DIAGNOSIS_NOTE, "no NVIDIA GPU on the PCI buses"),
		       "in a container /sys must be visible, else reports write GPU? for the "
		       "number of a GPU");
	else
		find(diagnosis, "GPUs", DIAGNOSIS_GOOD, "%zu on the PCI buses",
		     (size_t)devices.count);
	device_list_fini(&devices);
}

/* Finds the CUPTI that a run takes, but for the libraries that its program maps: the first one that can be loaded.
 * "": there is none. */
static void find_cupti(const char *program, struct cupti_search *search, char path[static PATH_MAX])
{
	struct install_paths paths;
	struct cupti_library library;
	Dl_info object;

	*path = '\0';
	if (install_paths_find(program, &paths) == 0)
		*(strrchr(paths.inject, '/') ? strrchr(paths.inject, '/') : paths.inject) = '\0';
	else
		*paths.inject = '\0';
	cupti_search_environment(NULL, 0, paths.inject, search);
	for (uint32_t i = 0; i < search->nr_candidates && !*path; i++) {
		const char *candidate = search->candidates[i].path;

		if (cupti_library_open(candidate, false, &library) < 0)
			continue;
		/* The loader finds a name without a folder. */
		if (!strchr(candidate, '/') &&
		    dladdr((const void *)(uintptr_t)library.get_version, &object))
			candidate = object.dli_fname;
		snprintf(path, PATH_MAX, "%s", candidate);
	}
}

static void ask_cupti(struct diagnosis *diagnosis, const char *program)
{
	static struct cupti_search search;
	const char *override = getenv(CUPTI_SEARCH_ENV);
	char path[PATH_MAX], real[PATH_MAX];

	find_cupti(program, &search, path);
	if (*path) {
		bool is_link = realpath(path, real) && strcmp(path, real) != 0;

		find(diagnosis, "CUPTI", DIAGNOSIS_GOOD, "%s%s%s", path,
		     is_link ? ", which is " : "", is_link ? real : "");
		return;
	}
	if (override && *override) {
		remedy(find(diagnosis, "CUPTI", DIAGNOSIS_PROBLEM, "%s=%s: %s", CUPTI_SEARCH_ENV,
			    override,
			    access(override, R_OK) == 0 ? "cannot be loaded as CUPTI"
							: "no such file"),
		       "unset %s, or have it name a libcupti.so", CUPTI_SEARCH_ENV);
		return;
	}
	remedy(find(diagnosis, "CUPTI", DIAGNOSIS_NOTE,
		    "no libcupti yet, looked in: %s. What a program brings along (PyTorch does) is "
		    "found when it runs",
		    search.looked),
	       "for other programs install the CUDA Toolkit, or set CUDA_HOME or %s",
	       CUPTI_SEARCH_ENV);
}

static void ask_environment(struct diagnosis *diagnosis)
{
	static const char *const names[] = {JOB_ENVIRONMENT_INJECTION, JOB_ENVIRONMENT_NVTX};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (!value || !*value || strstr(value, "libflamegrid_inject"))
			continue;
		remedy(find(diagnosis, "environment", i == 0 ? DIAGNOSIS_PROBLEM : DIAGNOSIS_NOTE,
			    "%s=%s: another tool is to be loaded, and %s", names[i], value,
			    i == 0 ? "jobs run with it and unprofiled" : "--nvtx has no effect"),
		       "unset %s", names[i]);
		return;
	}
	find(diagnosis, "environment", DIAGNOSIS_GOOD, "no other tool is to be loaded");
}

static void ask_sockets(struct diagnosis *diagnosis)
{
	struct private_dir dir;
	int result = private_dir_create(&dir);

	if (result < 0) {
		remedy(find(diagnosis, "sockets", DIAGNOSIS_PROBLEM,
			    "no folder for a socket in $XDG_RUNTIME_DIR, $TMPDIR or /tmp: %s",
			    strerror(-result)),
		       "set TMPDIR to a writable folder of this node with a short path");
		return;
	}
	find(diagnosis, "sockets", DIAGNOSIS_GOOD, "%s", dir.path);
	private_dir_remove(&dir);
}

static void ask_memory(struct diagnosis *diagnosis)
{
	int fd = memfd_create("flamegrid-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0) {
		close(fd);
		find(diagnosis, "shared memory", DIAGNOSIS_GOOD, "memfd");
		return;
	}
	remedy(find(diagnosis, "shared memory", DIAGNOSIS_PROBLEM, "memfd_create: %s",
		    strerror(errno)),
	       "allow memfd_create(2) in the container's seccomp profile");
}

static void ask_job_memory(struct diagnosis *diagnosis)
{
	char text[GUEST_SIZES_TEXT_MAX];
	struct memory_limits limits;
	struct guest_sizes sizes;

	memory_limits_read("", &limits);
	guest_sizes_make(&limits, &sizes);
	guest_sizes_text(&sizes, &limits, text);
	if (sizes.needed && sizes.limit == GUEST_SIZES_FILE) {
		remedy(find(diagnosis, "memory of jobs", DIAGNOSIS_PROBLEM,
			    "the guest's ring takes %llu KiB, and the limit on file sizes is %llu "
			    "KiB (ulimit -f): no process is recorded",
			    (unsigned long long)(record_ring_bytes(&sizes.ring) >> 10),
			    (unsigned long long)(limits.file >> 10)),
		       "ulimit -f unlimited, or %llu KiB or more",
		       (unsigned long long)(record_ring_bytes(&sizes.ring) >> 10));
		return;
	}
	if (sizes.needed) {
		guest_sizes_lack(&limits, text);
		remedy(find(diagnosis, "memory of jobs", DIAGNOSIS_PROBLEM,
			    "processes cannot be recorded: %s, and more for a program that has "
			    "more "
			    "in use than doctor",
			    text),
		       "ulimit -v unlimited");
		return;
	}
	if (guest_sizes_are_tight(&sizes)) {
		remedy(find(diagnosis, "memory of jobs", DIAGNOSIS_NOTE,
			    "bursts of launches may be lost: in each process our library takes %s",
			    text),
		       "raise the limit that is named; docs/memory-limits.md lists the parts");
		return;
	}
	find(diagnosis, "memory of jobs", DIAGNOSIS_GOOD,
	     "in each process our library takes memory as it is used, %s; "
	     "docs/memory-limits.md lists the parts",
	     text);
}

static void ask_limits(struct diagnosis *diagnosis)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_WANTED)
		remedy(find(diagnosis, "open files", DIAGNOSIS_NOTE,
			    "%llu at most: an agent needs four a process and one a module",
			    (unsigned long long)files.rlim_cur),
		       "ulimit -n %u", FILES_WANTED);
	else
		find(diagnosis, "open files", DIAGNOSIS_GOOD, "enough (ulimit -n)");
}

static void ask_kernel(struct diagnosis *diagnosis)
{
	char line[BPF_RIGHTS_LINE_MAX], paranoid[32];
	struct bpf_rights rights;

	bpf_rights_read(&rights, "");
	if (bpf_rights_missing(&rights, "no CPU samples, no waits of host threads", line))
		remedy(find(diagnosis, "BPF", DIAGNOSIS_NOTE, "%s", line),
		       "only --cpu-hz and --off-cpu need it: as root, or with CAP_BPF and "
		       "CAP_PERFMON");
	else
		find(diagnosis, "BPF", DIAGNOSIS_GOOD, "allowed");
	if (read_line(PARANOID, paranoid, sizeof(paranoid)) && atoi(paranoid) > PARANOID_MAX &&
	    !rights.may_perfmon)
		remedy(find(diagnosis, "perf events", DIAGNOSIS_NOTE,
			    "kernel.perf_event_paranoid is %s", paranoid),
		       "sysctl kernel.perf_event_paranoid=%d, for CPU samples", PARANOID_MAX);
}

static void ask_sampling(struct diagnosis *diagnosis)
{
	char version[DRIVER_VERSION_SIZE], line[DIAGNOSIS_TEXT_MAX];
	struct capability_set admin = {0};
	struct bpf_rights rights;

	bpf_rights_read(&rights, "");
	capability_set_add_admin(&admin);
	driver_version_read(DRIVER_VERSION_PATH, version);
	if (sampling_rights_read(SAMPLING_RIGHTS_PARAMETERS, version, admin.bits != 0,
				 rights.may_perfmon, line, sizeof(line)))
		find(diagnosis, "kernel samples", DIAGNOSIS_GOOD,
		     "%s: --record stalls, --sample-gpu and --metrics may use counters", line);
	else
		remedy(find(diagnosis, "kernel samples", DIAGNOSIS_NOTE, "%s", line),
		       "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or give jobs "
		       "CAP_SYS_ADMIN, or CAP_PERFMON with driver 565 and later");
}

static void ask_nvml(struct diagnosis *diagnosis)
{
	static const char *const remedies[TELEMETRY_REFUSALS] = {
		[TELEMETRY_NO_LIBRARY] = "install libnvidia-ml.so.1 of NVIDIA's driver; containers "
					 "need NVIDIA_DRIVER_CAPABILITIES=compute,utility",
		[TELEMETRY_NO_DRIVER] = "look what nvidia-smi says",
		[TELEMETRY_NO_DEVICE] = "look what nvidia-smi says",
		[TELEMETRY_HANGS] = "look what nvidia-smi says, and for Xid in the kernel's log",
		[TELEMETRY_FAILED] = "look what nvidia-smi says",
	};
	struct device_list devices = {0};
	char counters[NVML_ANSWER_COUNTERS_SIZE];
	uint32_t refusal;

	if (device_topology_read(&devices))
		device_list_fini(&devices);
	refusal = nvml_answer(&devices, counters);
	device_list_fini(&devices);
	if (refusal == TELEMETRY_ANSWERS) {
		find(diagnosis, "NVML", DIAGNOSIS_GOOD,
		     "answers: clocks, what holds them down, power and energy of GPUs are "
		     "recorded%s",
		     counters);
		return;
	}
	struct diagnosis_finding *finding =
		find(diagnosis, "NVML", DIAGNOSIS_NOTE,
		     "%s: clocks, power or energy of GPUs are not recorded%s",
		     gpu_telemetry_refusal_words(refusal), counters);
	if (remedies[refusal])
		remedy(finding, "%s", remedies[refusal]);
}

void diagnosis_ask_counters(struct diagnosis *diagnosis, const char *program)
{
	static const char *const remedies[COUNTER_REFUSALS] = {
		[COUNTER_NO_LIBRARY] = "install libcupti of CUDA 12.6 or later, and name it with "
				       "FLAMEGRID_CUPTI if it is in no usual place",
		[COUNTER_NO_DRIVER] = "look what nvidia-smi says",
		[COUNTER_NO_DEVICE] = "look what nvidia-smi says",
		[COUNTER_NO_RIGHT] = "load the driver with NVreg_RestrictProfilingToAdminUsers=0, "
				     "or give the agent CAP_PERFMON (driver 565) or CAP_SYS_ADMIN",
		[COUNTER_TAKEN] = "end the other profiler; dcgmi profile --pause frees what DCGM "
				  "has",
		[COUNTER_FAILED] = "look for Xid in the kernel's log",
		[COUNTER_DIED] = "look for Xid in the kernel's log",
		[COUNTER_HANGS] = "look for Xid in the kernel's log",
	};
	struct device_list devices = {0};
	char path[PATH_MAX], text[COUNTERS_ANSWER_SIZE];

	if (device_topology_read(&devices))
		device_list_fini(&devices);
	if (devices.count == 0 || install_paths_program(program, path)) {
		find(diagnosis, "counters", DIAGNOSIS_NOTE, "--sample-counters: not known: %s",
		     devices.count == 0 ? "no GPU is here" : "the agent's program is missing");
		device_list_fini(&devices);
		return;
	}
	const uint32_t refusal = counters_answer(&devices, path, text);
	device_list_fini(&devices);
	if (refusal == COUNTER_SAMPLED) {
		find(diagnosis, "counters", DIAGNOSIS_GOOD, "--sample-counters works: %s", text);
		return;
	}
	struct diagnosis_finding *finding =
		find(diagnosis, "counters", DIAGNOSIS_NOTE,
		     "--sample-counters works on %s: %s; GPM is used instead where there is one%s",
		     text, counter_refusal_words(refusal),
		     refusal == COUNTER_TAKEN ? ". --metrics, --record stalls and --sample-gpu "
						"need these counters, too"
					      : "");
	if (remedies[refusal])
		remedy(finding, "%s", remedies[refusal]);
}

static void ask_rights(struct diagnosis *diagnosis)
{
	char text[CAPABILITY_SET_TEXT_MAX];
	struct capability_set rights;

	capability_set_choose(geteuid() == 0 ? CAPABILITY_ROLE_SITE : CAPABILITY_ROLE_JOB, &rights);
	find(diagnosis, "rights", DIAGNOSIS_GOOD, "once it is set up an agent keeps %s",
	     capability_set_text(&rights, text));
}

static void ask_symbols(struct diagnosis *diagnosis)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls && *urls)
		find(diagnosis, "debug information", DIAGNOSIS_GOOD, "also from %s", urls);
	else
		find(diagnosis, "debug information", DIAGNOSIS_GOOD,
		     "what is on this machine (DEBUGINFOD_URLS is not set)");
}

static void list_settings(const struct site_config *config, char text[static DIAGNOSIS_TEXT_MAX])
{
	size_t used = (size_t)snprintf(text, DIAGNOSIS_TEXT_MAX, "%s sets", config->path);

	for (size_t i = 0; i < config->nr && used < DIAGNOSIS_TEXT_MAX; i++) {
		const struct site_config_setting *setting = &config->settings[i];

		used += (size_t)snprintf(text + used, DIAGNOSIS_TEXT_MAX - used, "%s %s%s%s",
					 i ? "," : "", setting->name, setting->value ? " " : "",
					 setting->value ? setting->value : "");
	}
	if (config->nr == 0)
		snprintf(text + used, DIAGNOSIS_TEXT_MAX - used, " nothing");
}

static void ask_configuration(struct diagnosis *diagnosis)
{
	static struct run_options options;
	char *error = NULL;
	int result;

	options = (struct run_options){0};
	result = run_options_check_config(&options, &error);
	if (result)
		remedy(find(diagnosis, "configuration", DIAGNOSIS_PROBLEM, "%s",
			    error ? error : strerror(-result)),
		       "mend the file, or run --no-config");
	else if (*options.config.path)
		list_settings(&options.config, find(diagnosis, "configuration", DIAGNOSIS_GOOD,
						    "%s", options.config.path)
						       ->text);
	else
		find(diagnosis, "configuration", DIAGNOSIS_GOOD,
		     "none (" SITE_CONFIG_PATH " is not there)");
	free(error);
}

void diagnosis_make(struct diagnosis *diagnosis, const char *program)
{
	diagnosis->count = 0;
	ask_installation(diagnosis, program);
	ask_driver(diagnosis);
	ask_devices(diagnosis);
	ask_cupti(diagnosis, program);
	ask_environment(diagnosis);
	ask_sockets(diagnosis);
	ask_memory(diagnosis);
	ask_job_memory(diagnosis);
	ask_limits(diagnosis);
	ask_kernel(diagnosis);
	ask_sampling(diagnosis);
	ask_nvml(diagnosis);
	ask_rights(diagnosis);
	ask_symbols(diagnosis);
	ask_configuration(diagnosis);
}

enum diagnosis_verdict diagnosis_verdict(const struct diagnosis *diagnosis)
{
	enum diagnosis_verdict worst = DIAGNOSIS_GOOD;

	for (size_t i = 0; i < diagnosis->count; i++)
		if (diagnosis->findings[i].verdict > worst)
			worst = diagnosis->findings[i].verdict;
	return worst;
}
