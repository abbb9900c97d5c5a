/* The version of the program. */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#define NOPEEK_VERSION "0.1.0"

#endif
