#include "fake_nvml.h"

#include <pthread.h>
#include <string.h>

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

struct nvml_device {
	int unused;
};

struct fake_nvml fake_nvml;

static struct nvml_device the_device;
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
	};
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

/* ---- the library */

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, struct nvml_device **device);
int nvmlDeviceGetFieldValues(struct nvml_device *device, int count, struct nvml_field *fields);
int nvmlDeviceGetNvLinkState(struct nvml_device *device, unsigned int link, int *state);
int nvmlDeviceGetMigMode(struct nvml_device *device, unsigned int *now, unsigned int *pending);
int nvmlDeviceGetMaxPcieLinkGeneration(struct nvml_device *device, unsigned int *generation);
int nvmlDeviceGetMaxPcieLinkWidth(struct nvml_device *device, unsigned int *lanes);

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
	if (strcmp(pci, FAKE_NVML_MISSING) == 0)
		return NOT_FOUND;
	*device = &the_device;
	return SUCCESS;
}

int nvmlDeviceGetFieldValues(struct nvml_device *device, int count, struct nvml_field *fields)
{
	if (fake_nvml.fields_fail)
		return UNKNOWN;
	if (device != &the_device || count != 1)
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
	if (device != &the_device || link >= FAKE_NVML_LINKS)
		return INVALID_ARGUMENT;
	if (link >= fake_nvml.nr_links)
		return NOT_SUPPORTED;
	*state = link < fake_nvml.nr_up;
	return SUCCESS;
}

int nvmlDeviceGetMigMode(struct nvml_device *device, unsigned int *now, unsigned int *pending)
{
	if (device != &the_device)
		return INVALID_ARGUMENT;
	*now = *pending = fake_nvml.divided;
	return SUCCESS;
}

int nvmlDeviceGetMaxPcieLinkGeneration(struct nvml_device *device, unsigned int *generation)
{
	*generation = fake_nvml.pcie_generation;
	return device == &the_device && *generation ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetMaxPcieLinkWidth(struct nvml_device *device, unsigned int *lanes)
{
	*lanes = fake_nvml.pcie_lanes;
	return device == &the_device && *lanes ? SUCCESS : NOT_SUPPORTED;
}
