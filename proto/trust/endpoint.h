/* What a ZeroMQ endpoint says about who can reach it. Pure; any thread. */
#ifndef ENDPOINT_H
#define ENDPOINT_H

/* 1: only this machine can reach it (loopback, ipc, inproc); 0: others can, or it isn't an endpoint
 * that we know. Wildcards and interface names are not local; of host names only "localhost" is. */
int endpoint_is_local(const char *endpoint);

#endif
