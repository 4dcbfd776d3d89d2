/** A clock that a test sets while a server runs: libfaketime between the server and the machine's clock. */
import { globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Env } from './own-server.ts'

const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')

/** Why no clock can be set on this machine. */
export function missingFaketime(): string | undefined {
  return library === undefined ? 'faketime is not installed' : undefined
}

/** `folder` may be read by the user of the server. */
export function settableClock(folder: string) {
  const file = join(folder, 'clock')
  const set = (ahead: string): void => writeFileSync(file, ahead)
  set('+0')
  const env: Env = {
    LD_PRELOAD: library ?? '',
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  /** `set`: how far the clock is ahead from now on, for example `-2h` or `+40d`. */
  return { env, set }
}
