import type { Clock } from './clock.ts'
import { letReject } from './values.ts'

/** The interface of a logger, compatible with pino: fields first, then the message. */
export interface Logger {
  /** Not called by this version. */
  debug(fields: object, message: string): void
  /** Information that needs no action. */
  info(fields: object, message: string): void
  /** A problem that needs attention. */
  warn(fields: object, message: string): void
  /** A problem that loses callbacks, or soon will. */
  error(fields: object, message: string): void
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const
const LINES_A_MINUTE = 10
const WINDOW_MS = 60_000

/** The logger for `logger: false`. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** The guarded logger of an option. Default: the console. */
export function loggerOf(given: Logger | false | undefined, clock: Clock): Logger {
  return given === false ? silentLogger : guardLogger(given ?? consoleLogger(clock))
}

interface Window {
  readonly level: Level
  lines: number
}

type Level = 'warn' | 'error'

/**
 * The default logger: warnings and errors on the console, because an unnoticed wrong secret loses every callback. At most ten
 * lines a minute per code, since anyone can send forged requests. Further lines are counted, and the count is logged.
 */
function consoleLogger(clock: Clock): Logger {
  /** Windows by code. Each window ends a minute after its first line. */
  const windows = new Map<string, Window>()

  function end(code: string): void {
    const window = windows.get(code)
    windows.delete(code)
    const withheld = (window?.lines ?? 0) - LINES_A_MINUTE
    if (window !== undefined && withheld > 0)
      console[window.level](`messaging-webhooks ${printable(code)}: ${withheld} more lines of this code were withheld.`)
  }

  function begin(code: string, level: Level): Window {
    const window = { level, lines: 0 }
    windows.set(code, window)
    clock.setTimer(() => {
      if (windows.get(code) === window) end(code)
    }, WINDOW_MS)
    return window
  }

  function write(level: Level, fields: object, message: string): void {
    const code = 'code' in fields && typeof fields.code === 'string' ? fields.code : message
    const window = windows.get(code) ?? begin(code, level)
    window.lines += 1
    if (window.lines > LINES_A_MINUTE) return
    const note = window.lines === LINES_A_MINUTE ? ' (Further lines of this code are withheld for a minute.)' : ''
    console[level](printable(`messaging-webhooks${label(fields)}: ${message}${note}`))
  }

  return {
    ...silentLogger,
    warn: (fields, message) => write('warn', fields, message),
    error: (fields, message) => write('error', fields, message),
  }
}

/** The code to look up, and the status of a refused request. */
function label(fields: object): string {
  const code = 'code' in fields && typeof fields.code === 'string' ? fields.code : undefined
  const status = 'status' in fields && typeof fields.status === 'number' ? ` refused with ${fields.status},` : ''
  return code === undefined ? '' : `${status} ${code}`
}

/** Errors may quote untrusted text. A terminal would execute its control characters. */
function printable(line: string): string {
  return line.replace(/[^\P{Cc}\n\t]/gu, '\uFFFD')
}

/** Guards a user's logger: an error in it must not cost an event. */
function guardLogger(logger: Readonly<Record<keyof Logger, (fields: object, message: string) => unknown>>): Logger {
  const guarded = { ...silentLogger }
  for (const level of LEVELS) {
    guarded[level] = (fields, message) => {
      try {
        // Typed as void, but a remote logger may return a promise.
        letReject(logger[level](fields, message))
      } catch {
        // An error of the logger cannot be logged.
      }
    }
  }
  return guarded
}
