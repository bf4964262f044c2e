/* Does Kineto record GPU work if its cuptiSubscribe() is answered with success beside another subscriber?
 *
 *	gcc -O2 -shared -fPIC kineto_share_probe.c -o libkineto_share_probe.so -ldl
 *	flamegrid run -- env LD_PRELOAD=$PWD/libkineto_share_probe.so python3 torch_profiler.py 2000 2000 2000
 *
 * Preloaded, it takes the place of CUPTI's subscription functions for objects that import them. Each call is
 * printed to stderr with its arguments and CUPTI's answer. Where CUPTI says that its subscription is taken
 * (39), the caller gets a handle that CUPTI does not know, and success for what it asks with it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAKEN         39
#define NOT_SUPPORTED 27
#define UNKNOWN       999

static char handle; /* its address is what is given out */

static int find_cupti(struct dl_phdr_info *info, size_t size, void *user)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libcupti.so"))
		return 0;
	*(void **)user = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
	return *(void **)user != NULL;
}

static void *real(const char *name)
{
	void *library = NULL;

	dl_iterate_phdr(find_cupti, &library);
	void *function = library ? dlsym(library, name) : NULL;
	if (!function)
		fprintf(stderr, "share_probe: %s: not found\n", name);
	return function;
}

static const char *object_of(void *address)
{
	Dl_info info;
	const char *slash;

	if (!dladdr(address, &info) || !info.dli_fname)
		return "?";
	slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

int cuptiSubscribe(void **subscriber, void *callback, void *user);
int cuptiSubscribe_v2(void **subscriber, void *callback, void *user, void *params);
int cuptiUnsubscribe(void *subscriber);
int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid);
int cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain);
int cuptiEnableAllDomains(uint32_t enable, void *subscriber);
int cuptiFinalize(void);

int cuptiSubscribe(void **subscriber, void *callback, void *user)
{
	int (*function)(void **, void *, void *) = real("cuptiSubscribe");
	int result = function ? function(subscriber, callback, user) : UNKNOWN;

	fprintf(stderr, "share_probe: %s: cuptiSubscribe(%p in %s, %p) = %d%s\n",
		object_of(__builtin_return_address(0)), callback, object_of(callback), user, result,
		result == TAKEN ? ", answered 0" : "");
	if (result != TAKEN)
		return result;
	*subscriber = &handle;
	return 0;
}

int cuptiSubscribe_v2(void **subscriber, void *callback, void *user, void *params)
{
	int (*function)(void **, void *, void *, void *) = real("cuptiSubscribe_v2");
	int result = function ? function(subscriber, callback, user, params) : UNKNOWN;

	fprintf(stderr, "share_probe: %s: cuptiSubscribe_v2() = %d, left so\n",
		object_of(__builtin_return_address(0)), result);
	return result;
}

int cuptiUnsubscribe(void *subscriber)
{
	int (*function)(void *) = real("cuptiUnsubscribe");
	int result = subscriber == &handle ? 0 : function ? function(subscriber) : UNKNOWN;

	fprintf(stderr, "share_probe: cuptiUnsubscribe(%s) = %d\n",
		subscriber == &handle ? "ours" : "CUPTI's", result);
	return result;
}

int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	int (*function)(uint32_t, void *, uint32_t, uint32_t) = real("cuptiEnableCallback");
	int result = subscriber == &handle ? 0
		     : function            ? function(enable, subscriber, domain, cbid)
					   : UNKNOWN;

	fprintf(stderr, "share_probe: cuptiEnableCallback(%u, %s, domain %u, cbid %u) = %d\n",
		enable, subscriber == &handle ? "ours" : "CUPTI's", domain, cbid, result);
	return result;
}

int cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain)
{
	int (*function)(uint32_t, void *, uint32_t) = real("cuptiEnableDomain");
	int result = subscriber == &handle ? NOT_SUPPORTED
		     : function            ? function(enable, subscriber, domain)
					   : UNKNOWN;

	fprintf(stderr, "share_probe: cuptiEnableDomain(%u, %s, domain %u) = %d\n", enable,
		subscriber == &handle ? "ours" : "CUPTI's", domain, result);
	return result;
}

int cuptiEnableAllDomains(uint32_t enable, void *subscriber)
{
	int (*function)(uint32_t, void *) = real("cuptiEnableAllDomains");
	int result = subscriber == &handle ? NOT_SUPPORTED
		     : function            ? function(enable, subscriber)
					   : UNKNOWN;

	fprintf(stderr, "share_probe: cuptiEnableAllDomains(%u, %s) = %d\n", enable,
		subscriber == &handle ? "ours" : "CUPTI's", result);
	return result;
}

int cuptiFinalize(void)
{
	int (*function)(void) = real("cuptiFinalize");

	fprintf(stderr, "share_probe: %s: cuptiFinalize()\n",
		object_of(__builtin_return_address(0)));
	return function ? function() : UNKNOWN;
}
