/* A stream that writes base64 into another one. Used by one thread. */
#ifndef BASE64_FILE_H
#define BASE64_FILE_H

#include <stdio.h>

/* Returns a stream for writing, which the caller ends with fclose(). Only then is everything in out, whose own errors
 * the caller looks for; out stays open. out is borrowed until fclose(). NULL: out of memory. */
FILE *base64_file_open(FILE *out);

#endif
