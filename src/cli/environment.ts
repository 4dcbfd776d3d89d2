/** The environment variables of the command line. The reference's table derives from here. */
export const ENVIRONMENT = {
  SIGNING_SECRET: 'The signing secret, for `listen`, `trigger`, `doctor` and `verify`.',
  AUTH_KEY: 'The Auth Key, for `listen`, `trigger` and `doctor`.',
  STORE_URL: 'The store, for `migrate`, `events`, `inspect`, `dead-letters` and `forget`.',
  CONTROL_TOKEN: 'The token of the control API, for `emulate`.',
  DEBUG: 'If not empty, unexpected errors print their stack.',
  NO_COLOR: 'Disables colours.',
  FORCE_COLOR: 'Unless `0`, enables colours, even in a pipe.',
} as const

type Variable = keyof typeof ENVIRONMENT

/** An empty variable counts as unset. */
export function readVariable(name: Variable): string | undefined {
  const value = process.env[name]
  return value === '' ? undefined : value
}
