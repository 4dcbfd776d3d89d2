/** File permissions do not bind root, and containers often run as root. */
import { chmodSync } from 'node:fs'

const ROOT = 0
const NOBODY = 65_534

/** Runs `work` as a user whom permissions bind. Files that it makes are that user's. */
export async function unprivileged<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== ROOT) return work()
  process.seteuid?.(NOBODY)
  try {
    return await work()
  } finally {
    process.seteuid?.(ROOT)
  }
}

/** Lets everybody write a file, in the midst of `unprivileged`. */
export function mayBeWritten(path: string): void {
  const user = process.geteuid?.() ?? ROOT
  if (process.getuid?.() === ROOT) process.seteuid?.(ROOT)
  chmodSync(path, 0o666)
  if (process.getuid?.() === ROOT) process.seteuid?.(user)
}
