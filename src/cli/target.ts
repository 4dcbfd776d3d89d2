/** Where callbacks may be sent to: this machine, unless somebody says otherwise. */
import { CliError } from './exit-codes.ts'

/** Checks a URL that is posted to. Throws a `CliError` for one that is no http or https URL, or not of this machine. */
export function checkTarget(url: string, allowRemote: boolean): void {
  const target = URL.canParse(url) ? new URL(url) : undefined
  if (target === undefined || !/^https?:$/.test(target.protocol))
    throw new CliError(
      'usage',
      '--to is no http or https URL.',
      'Expected such as http://localhost:3000/webhooks/status',
    )
  if (!allowRemote && !isLoopback(target.hostname))
    throw new CliError(
      'usage',
      `${target.hostname} is not this machine, and each callback carries the Auth Key.`,
      'Add --allow-remote if it is a server of yours.',
    )
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(\.\d+){3}$/.test(hostname)
  )
}

/** A URL without its user and password, which are nobody else's business. */
export function withoutCredentials(url: string): string {
  const plain = URL.canParse(url) ? new URL(url) : undefined
  if (plain === undefined || !/^https?:$/.test(plain.protocol)) return '(no http or https URL)'
  plain.username = ''
  plain.password = ''
  return plain.href
}
