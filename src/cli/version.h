/* The version of the program, and when it was made so. */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#define NOPEEK_VERSION "0.1.0"
#define NOPEEK_DATE "2026-11-30" /* of the version: a page that is written again is the same */

#endif
