/* Decides whether other machines can reach a ZeroMQ endpoint. Pure; any thread. */
#ifndef ENDPOINT_H
#define ENDPOINT_H

/* 1: only this machine can reach it (loopback, ipc, inproc, the host name "localhost"); 0: others can reach it (also by
 * a wildcard, an interface's name or another host name), or its form is not known. */
int endpoint_is_local(const char *endpoint);

#endif
