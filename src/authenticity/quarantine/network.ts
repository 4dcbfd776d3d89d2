/** Where a request came from, as far as strangers cannot choose it. */

/**
 * An IPv4 address as it is; of an IPv6 address the first 64 bits, for whoever has one has all that begin so. Takes its own
 * answers again.
 */
export function networkOf(remoteAddress: string | undefined): string | undefined {
  if (remoteAddress === undefined || !remoteAddress.includes(':') || remoteAddress.endsWith('/64')) return remoteAddress
  const dotted = remoteAddress.slice(remoteAddress.lastIndexOf(':') + 1)
  if (dotted.includes('.') && remoteAddress.toLowerCase().startsWith('::ffff:')) return dotted
  const [head = '', tail] = remoteAddress.split('::')
  const groups = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  while (tail !== undefined && groups.length + after.length < 8) groups.push('0')
  return `${[...groups, ...after].slice(0, 4).join(':')}::/64`
}
