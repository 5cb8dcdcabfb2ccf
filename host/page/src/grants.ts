// Says in plain words what a plugin may reach.

import { isDict } from './data';

function list(value: unknown): string[] {
  if (Array.isArray(value)) return value.map((one) => (isDict(one) ? String(one.path ?? JSON.stringify(one)) : String(one)));
  return value === null || value === undefined || value === true ? [] : [String(value)];
}

function exec(value: unknown): string[] {
  if (value === 'bash' || value === true) return ['runs any program, with the rights of gpud'];
  if (isDict(value)) {
    const words = value.bash === true ? ['runs any program, with the rights of gpud'] : [];
    const programs = list(value.programs);
    return programs.length ? [...words, `runs ${programs.join(', ')}`] : words;
  }
  const programs = list(value);
  return programs.length ? [`runs ${programs.join(', ')}`] : [];
}

function net(value: unknown): string[] {
  if (!isDict(value)) return ['connects to other programs'];
  const words: string[] = [];
  if (list(value.unix).length) words.push(`asks the sockets ${list(value.unix).join(', ')}`);
  if (list(value.loopback).length) words.push(`asks port ${list(value.loopback).join(', ')} of this machine`);
  if (list(value.tcp).length) words.push(`connects to ${list(value.tcp).join(', ')}`);
  return words;
}

/** Returns one sentence for each grant of a WebAssembly plugin. */
export function grantWords(grants: unknown): string[] {
  if (!isDict(grants)) return [];
  return Object.entries(grants).flatMap(([name, value]): string[] => {
    if (value === false || value === null) return [];
    switch (name) {
      case 'sysfs':
        return [`reads ${list(value).join(', ')}`];
      case 'statvfs':
        return [`sees the free space of ${list(value).join(', ')}`];
      case 'exec':
        return exec(value);
      case 'net':
        return net(value);
      case 'kmsg':
        return ['reads the kernel log'];
      case 'history':
        return ['reads its own events and the reboots'];
      case 'state':
        return ['remembers small values of its own'];
      case 'nvml':
        return ['asks NVIDIA GPUs'];
      case 'config':
        return ['reads its configuration'];
      default:
        return [`${name}: ${JSON.stringify(value)}`];
    }
  });
}
