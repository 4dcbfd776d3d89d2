/**
 * Addresses of servers, checked before a driver reads them. A driver quotes an address that it cannot parse, password included,
 * and takes what follows an unescaped character of a password for a host, which then appears in errors.
 */

/** What an address must look like, as messages say it. */
export function addressForm(scheme: string, end: string): string {
  return `expected ${scheme}://user:password@${end}, with @ # / ? of a name or password written as %40 %23 %2F %3F`
}

/** Scheme, credentials, hosts, and the rest. */
const PARTS = /^([a-z]+):\/\/(?:([^@/?#]*)@)?([^@/?#]*)([^@#]*)$/i
/** White space, and quotes that the file of a variable has left around the address. */
const AROUND = /\s|["'`]$/

/**
 * Whether a driver reads this address as it was meant. An `@` or `#` may only be escaped, except for the `@` before the host.
 * Several hosts are separated by commas.
 */
export function isAddress(text: string, schemes: readonly string[]): boolean {
  const [, scheme = '', credentials, hosts = '', rest = ''] = PARTS.exec(text) ?? []
  if (!schemes.includes(scheme.toLowerCase()) || AROUND.test(text)) return false
  const user = credentials === undefined ? '' : `${credentials}@`
  return hosts.split(',').every((host) => {
    try {
      const { username, password, pathname } = new URL(`${scheme}://${user}${host}${rest}`)
      decodeURIComponent(username + password + pathname)
      return true
    } catch {
      return false
    }
  })
}
