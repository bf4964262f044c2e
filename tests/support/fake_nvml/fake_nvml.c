#include "fake_nvml.h"

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/fake_cuda/sim/sim_power.h"

#define FIELD_SPEED_COMMON 90u
#define FIELD_SPEED        164u

/* As nvml.h has them. */
enum nvml_result {
	SUCCESS = 0,
	UNINITIALIZED = 1,
	INVALID_ARGUMENT = 2,
	NOT_SUPPORTED = 3,
	NOT_FOUND = 6,
	UNKNOWN = 999,
};

struct nvml_field {
	unsigned int field, scope;
	long long time_us, latency_us;
	unsigned int value_type;
	int result;
	union {
		unsigned int number;
		unsigned long long widest;
	} value;
};

#define DEVICES      256u /* one for each PCI bus */
#define ENERGY_FIRST 1000000000u

struct nvml_device {
	struct fake_nvml_gpu gpu;
	uint32_t nr_reasons, nr_energy, nr_ecc, nr_samples; /* calls */
	unsigned long long first_ns; /* CLOCK_REALTIME of the first reading of energy */
};

struct fake_nvml fake_nvml;

static struct nvml_device devices[DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool hangs;
static uint32_t nr_waiting;

__attribute__((constructor)) void fake_nvml_reset(void)
{
	fake_nvml_hang(false);
	fake_nvml = (struct fake_nvml){
		.nr_links = FAKE_NVML_LINKS,
		.nr_up = FAKE_NVML_LINKS,
		.speed = 26562,
		.value_type = 1,
		.pcie_generation = 5,
		.pcie_lanes = 16,
		.gpu = {.sm_mhz = 1980,
			.memory_mhz = 2619,
			.power_mw = 500000,
			.energy_mj = 125000,
			.celsius = 60,
			.computing = 80000,
			.active = 60000,
			.occupancy = 30000,
			.tensor = 20000,
			.dram = 40000,
			.sent = 15625,
			.received = 31250,
			.nvlink_sent = 62500,
			.nvlink_received = 78125},
	};
	memset(devices, 0, sizeof(devices));
}

void fake_nvml_hang(bool now)
{
	pthread_mutex_lock(&lock);
	hangs = now;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

bool fake_nvml_waits(void)
{
	pthread_mutex_lock(&lock);
	bool waits = nr_waiting > 0;
	pthread_mutex_unlock(&lock);
	return waits;
}

/* ---- telemetry by bus */

static const struct {
	const char *name;
	size_t at;
} keys[] = {
	{"sm", offsetof(struct fake_nvml_gpu, sm_mhz)},
	{"memory", offsetof(struct fake_nvml_gpu, memory_mhz)},
	{"reasons", offsetof(struct fake_nvml_gpu, reasons)},
	{"then", offsetof(struct fake_nvml_gpu, then)},
	{"power", offsetof(struct fake_nvml_gpu, power_mw)},
	{"energy", offsetof(struct fake_nvml_gpu, energy_mj)},
	{"idle", offsetof(struct fake_nvml_gpu, idle_mw)},
	{"resets", offsetof(struct fake_nvml_gpu, resets)},
	{"celsius", offsetof(struct fake_nvml_gpu, celsius)},
	{"delay", offsetof(struct fake_nvml_gpu, delay_ms)},
	{"ecc", offsetof(struct fake_nvml_gpu, ecc)},
	{"result", offsetof(struct fake_nvml_gpu, result)},
	{"gpm", offsetof(struct fake_nvml_gpu, gpm)},
	{"computing", offsetof(struct fake_nvml_gpu, computing)},
	{"active", offsetof(struct fake_nvml_gpu, active)},
	{"occupancy", offsetof(struct fake_nvml_gpu, occupancy)},
	{"tensor", offsetof(struct fake_nvml_gpu, tensor)},
	{"dram", offsetof(struct fake_nvml_gpu, dram)},
	{"sent", offsetof(struct fake_nvml_gpu, sent)},
	{"received", offsetof(struct fake_nvml_gpu, received)},
	{"nvlink_sent", offsetof(struct fake_nvml_gpu, nvlink_sent)},
	{"nvlink_received", offsetof(struct fake_nvml_gpu, nvlink_received)},
	{"wrong", offsetof(struct fake_nvml_gpu, wrong)},
	{"hang", offsetof(struct fake_nvml_gpu, hang)},
};

static void set(struct fake_nvml_gpu *gpu, char *words)
{
	char *rest, *has_then = NULL;

	for (char *word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		size_t size = strcspn(word, "="), i = 0;

		while (i < sizeof(keys) / sizeof(*keys) &&
		       (strncmp(keys[i].name, word, size) != 0 || keys[i].name[size]))
			i++;
		if (i == sizeof(keys) / sizeof(*keys) || !word[size]) {
			fprintf(stderr, "FAKE_NVML: %s is not understood\n", word);
			abort();
		}
		*(uint32_t *)((char *)gpu + keys[i].at) =
			(uint32_t)strtoul(word + size + 1, NULL, 0);
		if (strcmp(keys[i].name, "then") == 0)
			has_then = word;
	}
	if (!has_then)
		gpu->then = gpu->reasons;
}

/* What the GPU on this bus says. */
static struct fake_nvml_gpu gpu_of(unsigned int bus)
{
	struct fake_nvml_gpu gpu = fake_nvml.gpu;
	char text[1024], *rest;

	snprintf(text, sizeof(text), "%s", getenv("FAKE_NVML") ? getenv("FAKE_NVML") : "");
	for (char *entry = strtok_r(text, " ", &rest); entry; entry = strtok_r(NULL, " ", &rest)) {
		char *words = strchr(entry, ':');

		if (!words || (*entry != '*' && strtoul(entry, NULL, 16) != bus))
			continue;
		set(&gpu, words + 1);
		break;
	}
	return gpu;
}

/* ---- the library */

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, struct nvml_device **device);
int nvmlDeviceGetFieldValues(struct nvml_device *device, int count, struct nvml_field *fields);
int nvmlDeviceGetNvLinkState(struct nvml_device *device, unsigned int link, int *state);
int nvmlDeviceGetMigMode(struct nvml_device *device, unsigned int *now, unsigned int *pending);
int nvmlDeviceGetMaxPcieLinkGeneration(struct nvml_device *device, unsigned int *generation);
int nvmlDeviceGetMaxPcieLinkWidth(struct nvml_device *device, unsigned int *lanes);

static bool is_device(const struct nvml_device *device)
{
	return device >= devices && device < devices + DEVICES;
}

const struct fake_nvml_gpu *fake_nvml_gpu(struct nvml_device *device, uint32_t *sample)
{
	if (!is_device(device))
		return NULL;
	if (sample)
		*sample = ++device->nr_samples;
	return &device->gpu;
}

int nvmlInit_v2(void)
{
	fake_nvml.nr_inits++;
	if (fake_nvml.init_result == SUCCESS)
		fake_nvml.nr_open++;
	return fake_nvml.init_result;
}

int nvmlShutdown(void)
{
	if (fake_nvml.nr_open == 0)
		return UNINITIALIZED;
	fake_nvml.nr_open--;
	return SUCCESS;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, struct nvml_device **device)
{
	pthread_mutex_lock(&lock);
	nr_waiting++;
	while (hangs)
		pthread_cond_wait(&changed, &lock);
	nr_waiting--;
	pthread_mutex_unlock(&lock);
	if (fake_nvml.nr_open == 0)
		return UNINITIALIZED;
	fake_nvml.nr_finds++;
	if (strcmp(pci, FAKE_NVML_MISSING) == 0 || strlen(pci) < 11)
		return NOT_FOUND;
	unsigned int bus = (unsigned int)strtoul(pci + 9, NULL, 16) % DEVICES;
	*device = &devices[bus];
	(*device)->gpu = gpu_of(bus);
	return SUCCESS;
}

int nvmlDeviceGetFieldValues(struct nvml_device *device, int count, struct nvml_field *fields)
{
	if (fake_nvml.fields_fail)
		return UNKNOWN;
	if (!is_device(device) || count != 1)
		return INVALID_ARGUMENT;
	uint32_t speed = fields->field == FIELD_SPEED          ? fake_nvml.speed
			 : fields->field == FIELD_SPEED_COMMON ? fake_nvml.common_speed
							       : 0;
	fields->value_type = fake_nvml.value_type;
	fields->result = speed ? SUCCESS : NOT_SUPPORTED;
	fields->value.number = speed;
	return SUCCESS;
}

int nvmlDeviceGetNvLinkState(struct nvml_device *device, unsigned int link, int *state)
{
	if (!is_device(device) || link >= FAKE_NVML_LINKS)
		return INVALID_ARGUMENT;
	if (link >= fake_nvml.nr_links)
		return NOT_SUPPORTED;
	*state = link < fake_nvml.nr_up;
	return SUCCESS;
}

int nvmlDeviceGetMigMode(struct nvml_device *device, unsigned int *now, unsigned int *pending)
{
	if (!is_device(device))
		return INVALID_ARGUMENT;
	*now = *pending = fake_nvml.divided;
	return SUCCESS;
}

int nvmlDeviceGetMaxPcieLinkGeneration(struct nvml_device *device, unsigned int *generation)
{
	*generation = fake_nvml.pcie_generation;
	return is_device(device) && *generation ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetMaxPcieLinkWidth(struct nvml_device *device, unsigned int *lanes)
{
	*lanes = fake_nvml.pcie_lanes;
	return is_device(device) && *lanes ? SUCCESS : NOT_SUPPORTED;
}

/* ---- readings */

int nvmlDeviceGetClockInfo(struct nvml_device *device, int type, unsigned int *mhz);
int nvmlDeviceGetMaxClockInfo(struct nvml_device *device, int type, unsigned int *mhz);
int nvmlDeviceGetMemoryBusWidth(struct nvml_device *device, unsigned int *bits);
int nvmlDeviceGetCurrentClocksEventReasons(struct nvml_device *device, unsigned long long *bits);
int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *device, unsigned long long *bits);
int nvmlDeviceGetPowerUsage(struct nvml_device *device, unsigned int *mw);
int nvmlDeviceGetTotalEnergyConsumption(struct nvml_device *device, unsigned long long *mj);
int nvmlDeviceGetTemperature(struct nvml_device *device, int sensor, unsigned int *celsius);
int nvmlDeviceGetTotalEccErrors(struct nvml_device *device, int type, int counter,
				unsigned long long *count);

static int answer(const struct nvml_device *device)
{
	return is_device(device) ? (int)device->gpu.result : INVALID_ARGUMENT;
}

/* O_APPEND: lines of several agents do not mix. */
static void log_reading(const struct nvml_device *device)
{
	const char *path = getenv("FAKE_NVML_LOG");
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%02x\n", (unsigned int)(device - devices));
	close(fd);
}

/* Those of an H100. */
int nvmlDeviceGetMaxClockInfo(struct nvml_device *device, int type, unsigned int *mhz)
{
	if (type != 2)
		return NOT_SUPPORTED;
	*mhz = device->gpu.memory_mhz;
	return SUCCESS;
}

int nvmlDeviceGetMemoryBusWidth(struct nvml_device *device, unsigned int *bits)
{
	(void)device;
	*bits = 5120;
	return SUCCESS;
}

int nvmlDeviceGetClockInfo(struct nvml_device *device, int type, unsigned int *mhz)
{
	while (is_device(device) && device->gpu.hang)
		pause();
	fake_nvml.nr_readings += type == 1;
	*mhz = type == 1 ? device->gpu.sm_mhz : device->gpu.memory_mhz;
	return type == 1 || type == 2 ? answer(device) : INVALID_ARGUMENT;
}

int nvmlDeviceGetCurrentClocksEventReasons(struct nvml_device *device, unsigned long long *bits)
{
	*bits = device->nr_reasons++ % 2 ? device->gpu.then : device->gpu.reasons;
	return answer(device);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *device, unsigned long long *bits)
{
	return nvmlDeviceGetCurrentClocksEventReasons(device, bits);
}

int nvmlDeviceGetPowerUsage(struct nvml_device *device, unsigned int *mw)
{
	*mw = device->gpu.power_mw;
	return answer(device);
}

unsigned long long fake_nvml_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

/* The file is small, so it is read each time. */
double fake_nvml_work(const struct nvml_device *device, unsigned long long now_ns)
{
	struct sim_power_record record;
	const char *path = getenv("FAKE_CUDA_POWER");
	FILE *file = path ? fopen(path, "re") : NULL;
	unsigned __int128 mw_ns = 0;

	while (file && fread(&record, sizeof(record), 1, file) == 1)
		if (record.pci_bus == (uint32_t)(device - devices) && record.start_ns < now_ns)
			mw_ns += (unsigned __int128)((record.end_ns < now_ns ? record.end_ns
									     : now_ns) -
						     record.start_ns) *
				 record.mw;
	if (file)
		fclose(file);
	return (double)mw_ns;
}

/* Returns what the device took by now, in mJ. */
static unsigned long long energy_taken(struct nvml_device *device)
{
	const unsigned long long now_ns = fake_nvml_now_ns();

	if (!device->first_ns)
		device->first_ns = now_ns;
	return (unsigned long long)(((double)(now_ns - device->first_ns) * device->gpu.idle_mw +
				     fake_nvml_work(device, now_ns)) /
				    1e9);
}

int nvmlDeviceGetTotalEnergyConsumption(struct nvml_device *device, unsigned long long *mj)
{
	log_reading(device);
	const uint32_t nr = device->nr_energy++;

	if (getenv("FAKE_CUDA_POWER"))
		*mj = ENERGY_FIRST + energy_taken(device);
	else
		*mj = ENERGY_FIRST +
		      (unsigned long long)(device->gpu.resets ? nr % device->gpu.resets : nr) *
			      device->gpu.energy_mj;
	return answer(device);
}

int nvmlDeviceGetTemperature(struct nvml_device *device, int sensor, unsigned int *celsius)
{
	*celsius = device->gpu.celsius;
	return sensor == 0 ? answer(device) : INVALID_ARGUMENT;
}

int nvmlDeviceGetTotalEccErrors(struct nvml_device *device, int type, int counter,
				unsigned long long *count)
{
	*count = type == 0 ? (unsigned long long)device->nr_ecc++ * device->gpu.ecc : 0;
	return counter == 0 ? answer(device) : INVALID_ARGUMENT;
}
