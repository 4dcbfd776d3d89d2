/** File permissions do not bind root, and containers often run as root. */
import { chmodSync } from 'node:fs'

const ROOT = 0
const UNPRIVILEGED_ID = 65_534

/** Runs `work` as a user bound by permissions. Files that it creates belong to that user. */
export async function unprivileged<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== ROOT) return work()
  process.seteuid?.(UNPRIVILEGED_ID)
  try {
    return await work()
  } finally {
    process.seteuid?.(ROOT)
  }
}

/** Makes a file writable for every user, while `unprivileged` runs. */
export function mayBeWritten(path: string): void {
  const user = process.geteuid?.() ?? ROOT
  if (process.getuid?.() === ROOT) process.seteuid?.(ROOT)
  chmodSync(path, 0o666)
  if (process.getuid?.() === ROOT) process.seteuid?.(user)
}
