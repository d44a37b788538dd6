"""The pure heart of the daemon: commands in, effects out.

No I/O, no clock, no randomness, no asyncio, and no import from outside this
package: time and ids are arguments. Read `transitions` first, then `state`,
`machine`, `jobs`, `auctions`, `assignments`, `clusters`.
"""
