/** The only place of the page that asks for the time or sets a timer. */

export function now(): number {
  return Date.now()
}

/** Returns what takes it back. */
export function after(delayMs: number, what: () => void): () => void {
  const timer = setTimeout(what, delayMs)
  return () => clearTimeout(timer)
}

export function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => void after(delayMs, resolve))
}
