/** Where a file is, or will be, behind symbolic links. */
import { readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/** As many as Linux follows. */
const MAX_LINKS = 40

/**
 * Files beside a database get their names from its resolved path: with `releases/7/inbox.db -> shared/inbox.db`, the next release
 * finds those of the last one. The file, and a link's target, may not exist yet.
 */
export function resolvedPath(path: string, links = MAX_LINKS): string {
  try {
    return realpathSync(path)
  } catch {
    const absolute = resolve(path)
    const parent = dirname(absolute)
    const target = links > 0 ? linkAt(absolute) : undefined
    if (target !== undefined) return resolvedPath(resolve(parent, target), links - 1)
    return parent === absolute ? absolute : join(resolvedPath(parent, links), basename(absolute))
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}
