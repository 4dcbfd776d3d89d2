/** The environment variables of the command line. The reference's table derives from here. */
export const ENVIRONMENT = {
  SIGNING_SECRET: 'The signing secret, for `listen`, `trigger`, `doctor` and `verify`.',
  AUTH_KEY: 'The Auth Key, for `listen`, `trigger` and `doctor`.',
  OLD_SIGNING_SECRET: 'The signing secret that was rotated out, for `doctor`.',
  OLD_AUTH_KEY: 'The Auth Key that was rotated out, for `doctor`.',
  STORE_URL: 'The store, for `migrate`, `events`, `inspect`, `holders`, `dead-letters` and `forget`.',
  CONTROL_TOKEN: 'What the control API of `emulate` asks for.',
  DEBUG: 'Anything but empty: an error that is not foreseen shows where it was thrown.',
  NO_COLOR: 'Anything but empty: no colours.',
  FORCE_COLOR: 'Anything but empty or `0`: colours into a pipe, too.',
} as const

export type Variable = keyof typeof ENVIRONMENT

/** An empty variable counts as unset. */
export function readVariable(name: Variable): string | undefined {
  const value = process.env[name]
  return value === '' ? undefined : value
}
